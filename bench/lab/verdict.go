package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// contender is one policy on the fleet.
type contender struct {
	name string
	*runs
	drowned []int   // servers whose queues grow
	value   float64 // the figure that is compared, over all seeds
	lost    float64 // share of the requests that were not answered well
	score   float64 // what the policies are ranked by
	scores  sample  // under each seed
}

// verdict is the contenders in their order, and how sure it is.
type verdict struct {
	by         string
	ranked     []contender
	stable     int          // of the ranked, under which no queue grows
	anyLost    bool         // some request was not answered well
	comparison []comparison // of each to the first
	take       int          // which one is advised
}

// comparison is how far one contender is behind the first by the figure, weighed by
// what was lost, as shares of the first's.
type comparison struct {
	low, mid, high float64
	noise          bool // the difference could be none
}

func lost(r *sim.Result) float64 {
	bad := float64(r.Failed + r.Refused + r.GaveUp + r.Stranded)
	return bad / (bad + float64(r.Requests))
}

// score is the measure of the rank: the logarithm to the base of 2 of the figure,
// and 1 for each per cent of the requests that was not answered well. So a policy
// that loses next to nothing more and takes half as long comes first, and one that
// loses much does not, however quick the rest is.
func score(figure, lost float64) float64 { return math.Log2(figure) + 100*lost }

// rank orders the contenders: first those under which no queue grows, then by the
// score.
func rank(cfg *sim.Config, by string, ranked []contender) *verdict {
	v := &verdict{by: by, ranked: ranked}
	for i := range ranked {
		c := &ranked[i]
		c.drowned = drowned(cfg, c.name)
		c.value, c.lost = c.sample(figures[by]).mean(), c.sample(lost).mean()
		c.score = score(c.value, c.lost)
		c.scores = c.sample(func(r *sim.Result) float64 { return score(figures[by](r), lost(r)) })
		v.anyLost = v.anyLost || c.lost > 0
		if len(c.drowned) == 0 {
			v.stable++
		}
	}
	slices.SortStableFunc(ranked, func(a, b contender) int {
		return cmp.Or(
			cmp.Compare(min(len(a.drowned), 1), min(len(b.drowned), 1)),
			cmp.Compare(a.score, b.score),
			cmp.Compare(slices.Index(preferred, a.name), slices.Index(preferred, b.name)),
		)
	})
	// One interval for each comparison with the best, 95 % for all together.
	confidence := 1 - 0.05/float64(max(len(ranked)-1, 1))
	for _, c := range ranked {
		half := c.scores.minus(ranked[0].scores).interval(confidence)
		mid := c.score - ranked[0].score
		more := func(score float64) float64 { return math.Exp2(score) - 1 }
		v.comparison = append(v.comparison, comparison{low: more(mid - half), mid: more(mid), high: more(mid + half), noise: mid <= half})
	}
	v.take = v.simplest(cfg.Servers)
	return v
}

// preferred are the policies in the order in which they are advised where they are
// as good and look at as many servers.
var preferred = []string{"sqf", "p2c", "p3c", "roundrobin", "random"}

// simplest is the one to take among those that are as good as the best: the one
// that looks at the fewest servers, of those that look.
func (v *verdict) simplest(servers int) int {
	take := 0
	cost := func(i int) (looks, place int) {
		name := v.ranked[i].name
		if looks = choices(name, servers); looks == 1 {
			looks = math.MaxInt
		}
		return looks, slices.Index(preferred, name)
	}
	for i := 1; i < v.stable; i++ {
		if !v.comparison[i].noise || v.comparison[i].mid >= 0.02 {
			continue
		}
		looks, place := cost(i)
		takeLooks, takePlace := cost(take)
		if cmp.Or(cmp.Compare(looks, takeLooks), cmp.Compare(place, takePlace)) < 0 {
			take = i
		}
	}
	return take
}

// interval is half the width of the confidence interval of the mean of s.
func (s sample) interval(confidence float64) float64 {
	if len(s) < 2 {
		return math.Inf(1)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(s) - 1)}
	return t.Quantile(1-(1-confidence)/2) * s.sd() / math.Sqrt(float64(len(s)))
}

// minus is the difference seed by seed: the policies faced the same requests, so
// most of the noise is taken away.
func (s sample) minus(other sample) sample {
	d := make(sample, len(s))
	for i := range s {
		d[i] = s[i] - other[i]
	}
	return d
}

// measure is what the rank is by, in words.
func (v *verdict) measure() string {
	if v.anyLost {
		return "weighed " + v.by
	}
	return v.by
}

// remark is what the row of a contender says of its place.
func (v *verdict) remark(cfg *sim.Config, i int) string {
	c := v.comparison[i]
	switch {
	case len(v.ranked[i].drowned) > 0:
		return growth(cfg, v.ranked[i].drowned)
	case i == 0:
		return "best"
	case c.mid >= 999:
		return v.measure() + " over 1000 times the best"
	case c.mid >= 9:
		return fmt.Sprintf("%s %.0f times the best (%.0f to %.0f)", v.measure(), 1+c.mid, 1+c.low, 1+c.high)
	}
	text := fmt.Sprintf("%s %+.1f%% (%+.1f to %+.1f)", v.measure(), c.mid*100, c.low*100, c.high*100)
	if c.noise {
		text += ", could be noise"
	}
	return text
}

// significant is v with three significant digits, never with an exponent.
func significant(v float64) string {
	digits := 2
	if a := math.Abs(v); a > 0 {
		digits = max(2-int(math.Floor(math.Log10(a))), 0)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
