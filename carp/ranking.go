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
	names []uint64  // View.Hash
	per   []float64 // 1 / weight as it was set; nil: all equal
	open  []uint64  // the slow-start share of 2^32; nil: all of it
}

func newRanking(v evenkeel.View) *ranking {
	n := v.Len()
	r := &ranking{names: make([]uint64, n)}
	per, open := make([]float64, n), make([]uint64, n)
	equal := true
	for i := range n {
		r.names[i] = v.Hash(i)
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
			if h := mix(key ^ name); h < best {
				at, best = i, h
			}
		}
		return at
	}
	at, best := -1, math.Inf(1)
	for i, name := range r.names {
		h := mix(key ^ name)
		if c := r.cost(i, h, best); c < best && r.admits(i, h) {
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
		h := mix(key ^ name)
		c := r.cost(i, h, best)
		if !(c < best && r.admits(i, h)) {
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

// admits reports whether slow start lets backend i take the key of which h is the hash with
// it. A share that rises never shuts out a key that it has let in. The lower half of h
// is next to nothing in the order, which goes by the upper bits.
func (r *ranking) admits(i int, h uint64) bool {
	return r.open == nil || h&math.MaxUint32 < r.open[i]
}

// cost is what the order is by: the lowest is first. One that is not below best may come out
// as any number that is not below best either, which saves the logarithm: -ln(1-x) is never
// below x.
func (r *ranking) cost(i int, h uint64, best float64) float64 {
	x := unit(h)
	if r.per == nil {
		return x
	}
	if c := x * r.per[i]; c >= best {
		return c
	}
	return minusLog1(x) * r.per[i]
}

// unopened is the ranking without slow start, for keys that nobody is open for.
func (r *ranking) unopened() *ranking { return &ranking{names: r.names, per: r.per} }
