package carp

import (
	"math"
	"slices"

	"github.com/evenkeel-go/evenkeel"
)

// A ranking is what makes each key's order of the backends of one membership.
//
// A key and a backend together give a random number x, uniform in (0, 1). Where weights
// are equal the order is that of x. In general it is that of -ln(1-x) / weight: times of
// arrival of independent Poisson processes whose rates are the weights, so the first is
// backend i with probability weight i / sum of all, and so is the next among the rest.
type ranking struct {
	names []uint64  // View.Hash, mixed, since Config.Hash may be anything
	per   []float64 // 1 / weight as it was set; nil: all equal
	most  float64   // the largest weight, times 2^52; 2^52 where all are equal
	open  []uint64  // the slow-start share of 2^32; nil: all of it
}

func newRanking(v evenkeel.View) *ranking {
	n := v.Len()
	r := &ranking{names: make([]uint64, n), most: 1 << 52}
	per, open := make([]float64, n), make([]uint64, n)
	equal := true
	for i := range n {
		r.names[i] = mix(v.Hash(i))
		per[i] = v.Share(i) / v.Weight(i)
		open[i] = uint64(v.Share(i) * (1 << 32))
		equal = equal && math.Abs(per[i]-per[0]) < 1e-9*per[0] // but for rounding
		if open[i] < 1<<32 {
			r.open = open
		}
	}
	if !equal {
		r.per, r.most = per, (1<<52)/slices.Min(per)
	}
	return r
}

// first returns the key's first choice.
func (r *ranking) first(key uint64) int {
	if r.per == nil && r.open == nil {
		at, best := 0, uint64(math.MaxUint64)
		for i, name := range r.names {
			if h := join(key, name); h < best {
				at, best = i, h
			}
		}
		return at
	}
	at, best, limit := -1, math.Inf(1), uint64(math.MaxUint64)
	for i, name := range r.names {
		h := join(key, name)
		if h > limit || !r.admits(i, h) {
			continue
		}
		if c := r.cost(i, h); c < best {
			at, best, limit = i, c, r.limit(c)
		}
	}
	if at < 0 {
		return r.unopened().first(key)
	}
	return at
}

// firstBelow returns the key's first choice among the backends whose load is below a bound,
// with that load. It looks only at the loads of those that would be the first choice so far.
func (r *ranking) firstBelow(v evenkeel.View, key uint64, bound float64) (at int, seen evenkeel.Load, ok bool) {
	at, best, limit := -1, math.Inf(1), uint64(math.MaxUint64)
	for i, name := range r.names {
		h := join(key, name)
		if h > limit || !r.admits(i, h) {
			continue
		}
		if c := r.cost(i, h); c < best {
			if l := v.Load(i); l.Value() < bound {
				at, best, limit, seen = i, c, r.limit(c), l
			}
		}
	}
	if at < 0 && r.open != nil {
		return r.unopened().firstBelow(v, key, bound)
	}
	return at, seen, at >= 0
}

// admits reports whether slow start lets backend i take the key of which h is the hash with
// it. A share that rises never shuts out a key that it has let in. The lower half of h is
// next to nothing in the order, which goes by the upper bits.
func (r *ranking) admits(i int, h uint64) bool {
	return r.open == nil || h&math.MaxUint32 < r.open[i]
}

// cost is what the order is by: the lowest is first.
func (r *ranking) cost(i int, h uint64) float64 {
	if r.per == nil {
		return unit(h)
	}
	return minusLog1(unit(h)) * r.per[i]
}

// limit is a hash such that no backend costs less than best with a higher one: the heaviest
// does not, since -ln(1-x) is never below x. So most hashes need no logarithm, and no more
// than one comparison.
func (r *ranking) limit(best float64) uint64 {
	x := float64(best*r.most) + 2 // 2: more than rounding can make of it
	if !(x < 1<<52) {
		return math.MaxUint64
	}
	return uint64(int64(x)) << 12
}

// unopened is the ranking without slow start, for keys that nobody is open for.
func (r *ranking) unopened() *ranking { return &ranking{r.names, r.per, r.most, nil} }
