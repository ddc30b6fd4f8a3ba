package carp

import (
	"math"

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
	open  []uint64  // the slow-start share of 2^32; nil: all of it
}

func newRanking(v evenkeel.View) *ranking {
	n := v.Len()
	r := &ranking{names: make([]uint64, n)}
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
		r.per = per
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
	at, best := -1, math.Inf(1)
	for i, name := range r.names {
		h := join(key, name)
		if !r.canBeat(best, i, h) {
			continue
		}
		if c := r.cost(i, h); c < best {
			at, best = i, c
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
	at, best := -1, math.Inf(1)
	for i, name := range r.names {
		h := join(key, name)
		if !r.canBeat(best, i, h) {
			continue
		}
		c := r.cost(i, h)
		if !(c < best) {
			continue
		}
		if l := v.Load(i); l.Value() < bound {
			at, best, seen = i, c, l
		}
	}
	if at < 0 && r.open != nil {
		return r.unopened().firstBelow(v, key, bound)
	}
	return at, seen, at >= 0
}

// canBeat reports whether backend i, with the key of which h is the hash with it, may cost
// less than best, and slow start lets it take the key. It saves most logarithms, since
// -ln(1-x) is never below x.
//
// A share that rises never shuts out a key that it has let in. The lower half of h is next
// to nothing in the order, which goes by the upper bits.
func (r *ranking) canBeat(best float64, i int, h uint64) bool {
	x := unit(h)
	if r.per != nil {
		x *= r.per[i]
	}
	return x < best && (r.open == nil || h&math.MaxUint32 < r.open[i])
}

// cost is what the order is by: the lowest is first.
func (r *ranking) cost(i int, h uint64) float64 {
	if r.per == nil {
		return unit(h)
	}
	return minusLog1(unit(h)) * r.per[i]
}

// unopened is the ranking without slow start, for keys that nobody is open for.
func (r *ranking) unopened() *ranking { return &ranking{names: r.names, per: r.per} }
