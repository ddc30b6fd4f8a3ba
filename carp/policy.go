package carp

import (
	"math"

	"github.com/evenkeel-go/evenkeel"
)

// Policy is the rule by itself, for evenkeel.NewDispatcher and for policies that wrap it; a
// wrapper passes Prepare on. It knows the key from Call.Key only, and takes the less loaded
// of two random backends for a call that has none.
type Policy struct {
	// LoadFactor is as in Config. A value that NewWith would refuse stands for 1.
	LoadFactor float64
}

// Prepare makes what the ranking needs of a membership.
func (Policy) Prepare(v evenkeel.View, _ any) any { return newRanking(v) }

// Choose takes the first backend in the key's order whose load is below the bound. The load
// of all is added up only if the first choice is not idle. For a part of a membership
// (evenkeel.View.Prepared) it allocates.
func (p Policy) Choose(v evenkeel.View) (int, evenkeel.Load) {
	if v.Len() == 1 {
		return 0, evenkeel.Load{}
	}
	text := v.Key()
	if text == "" {
		return v.Lesser(v.DrawTwo())
	}
	r, ok := v.Prepared().(*ranking)
	if !ok {
		r = newRanking(v)
	}
	key := hash(text)
	at := r.first(key)
	if math.IsInf(p.LoadFactor, 1) {
		return at, evenkeel.Load{}
	}
	seen := v.Load(at)
	if seen.Idle() {
		return at, seen
	}
	bound := p.bound(v)
	if seen.Value() < bound {
		return at, seen
	}
	if at, seen, ok := r.firstBelow(v, key, bound); ok {
		return at, seen
	}
	return v.Least() // loads have changed meanwhile: somebody is below the bound again
}

// bound is the load, a call in flight being 1 divided by the backend's weight, below which a
// backend may take one call more: then it holds no more than LoadFactor times its share of
// all, this call included, rounded up. Some backend is below it, since not all are above
// the mean.
func (p Policy) bound(v evenkeel.View) float64 {
	factor := p.LoadFactor
	switch {
	case factor == 0:
		factor = 1.25
	case !(factor >= 1):
		factor = 1
	}
	load, weight := v.Total()
	return factor * (load + 1) / weight
}
