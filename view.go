package evenkeel

import (
	"math/rand/v2"
	"sync"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// A Policy says which backend is taken. Choose is called once a pick, from many
// goroutines at once, and must not block, allocate or keep the View.
//
// Choose returns an index of 0..v.Len()-1 and the Load that it saw there, or the zero
// Load if it did not compare loads. An index out of range is an error of the policy and
// makes the pick panic.
//
// A policy that works something out for a membership, such as an order of turns, is
// also a [Preparer].
type Policy interface {
	Choose(v View) (index int, seen Load)
}

// A Preparer is a Policy that works something out for each membership: once, before it
// first chooses from it.
type Preparer interface {
	Policy
	// Prepare returns what Choose finds in View.Prepared. A membership is new when a
	// backend or a weight in it is. last is what Prepare returned for the membership
	// before, or nil. Prepare may allocate. It is not called by two goroutines at once
	// for one Dispatcher. A policy that wraps another one passes Prepare on.
	Prepare(v View, last any) any
}

// View is what a policy sees at one pick: the backends that may be taken, as indices,
// with what is known of each, and the call's key. It is valid only during the call of
// Choose or Prepare that it was given to.
type View struct {
	c   *candidates
	by  *chooser
	key string
}

// Len returns the number of backends that may be taken, at least 1.
func (v View) Len() int { return len(v.c.slots) }

// Key returns Call.Key, or "" if the call has none.
func (v View) Key() string { return v.key }

// Backend returns backend i, of the pool's type T. It does not allocate.
func (v View) Backend(i int) any { return v.c.who[i].backend }

// Hash returns a hash of backend i's name. It is the same on every machine, and in
// every process, for a T that is a string, an integer, or gives its text by
// encoding.TextMarshaler or fmt.Stringer; Config.Hash makes it for other types. Where
// there is no rule it is ID.
func (v View) Hash(i int) uint64 { return v.c.who[i].hash }

// ID returns backend i's number: it stays the same for as long as the backend is a
// member of its pool, and no other backend of any pool in the process has it.
func (v View) ID(i int) uint64 { return v.c.who[i].id }

// Prepared returns what the policy's Prepare returned for this membership. It is nil if
// the policy is no Preparer, and for a pick that is offered a part of the membership
// only: where Call.Avoid leaves some out, or some are at their limit.
func (v View) Prepared() any { return v.c.prepared.value(v.by.id) }

// Load returns backend i's load at this moment. Two calls may differ.
func (v View) Load(i int) Load { return v.c.load(i) }

// Lesser looks at two backends and returns the less loaded one with the load that was
// seen, or i on a tie. It is Load and Less in one, for policies that compare two.
func (v View) Lesser(i, j int) (int, Load) {
	a, b := v.c.load(i), v.c.load(j)
	if b.Less(a) {
		return j, b
	}
	return i, a
}

// Weighted reports whether the weights of the backends differ. Slow start lowers the
// weight of a backend that is new or back, so a pool whose members all weigh the same
// can be weighted for a while.
func (v View) Weighted() bool { return v.c.weights != nil }

// Weight returns backend i's weight, which is above 0: the one that was set times its
// slow-start share. Where all are equal it is 1.
func (v View) Weight(i int) float64 {
	if v.c.weights == nil {
		return 1
	}
	return v.c.weights[i]
}

// Share returns the part of its weight, above 0 and at most 1, that slow start allows
// backend i. Where it allows all of them the same part it is 1. Weight divided by Share
// is in proportion to the weights as they were set.
func (v View) Share(i int) float64 {
	if v.c.shares == nil {
		return 1
	}
	return v.c.shares[i]
}

// Total returns the load and the weight of all backends together: the sum of Load times
// Weight, and the sum of Weight. One that has left the rotation since the membership was
// made is not counted.
func (v View) Total() (load, weight float64) { return v.c.total() }

// Rand returns 64 random bits. With a seeded balancer they are a fixed sequence.
func (v View) Rand() uint64 { return v.by.source.Uint64() }

// RandN returns a random number of 0..n-1. n must be positive.
func (v View) RandN(n int) int { return draw.Index(v.by.source.Uint64(), n) }

// Draw returns a random backend, each with a probability in proportion to its weight.
func (v View) Draw() int {
	return v.c.draw(v.by.source.Uint64())
}

// DrawTwo returns two different random backends: uniformly over the ordered pairs where
// all weigh the same; otherwise the first in proportion to its weight, and the second
// likewise among the rest. Len must be at least 2.
func (v View) DrawTwo() (i, j int) {
	u := v.by.source.Uint64()
	if v.c.alias == nil {
		return draw.Two(u, len(v.c.slots))
	}
	return v.c.drawTwoByWeight(u)
}

// LesserOfTwo draws two different backends, as DrawTwo does, and returns the less loaded
// one with the load that was seen, or the first one on a tie: either is as likely. Len must
// be at least 2.
func (v View) LesserOfTwo() (int, Load) {
	if v.c.weights != nil || v.c.meter != nil || len(v.c.slots) < 2 {
		return v.lesserOfTwo()
	}
	var u uint64
	if v.by.source.IsSeeded() {
		u = v.by.source.Uint64()
	} else {
		u = rand.Uint64() // what Source does, without a call between
	}
	i, j := draw.Two(u, len(v.c.slots))
	a, b := v.c.slots[i].word.Load(), v.c.slots[j].word.Load()
	if uint32(b) < uint32(a) {
		i, a = j, b
	}
	return i, Load{float64(uint32(a)), a}
}

// lesserOfTwo is LesserOfTwo for any meter and any number of backends.
func (v View) lesserOfTwo() (int, Load) {
	if len(v.c.slots) < 2 {
		return 0, v.c.load(0)
	}
	return v.Lesser(v.DrawTwo())
}

// Least returns the least loaded of all backends. On a tie each of the tied ones is
// returned with a probability in proportion to its weight, wherever in the list it
// stands.
//
// It looks at two random backends first: one that is idle cannot be beaten, and taking
// it leaves the choice among the idle ones as random as a full scan does.
func (v View) Least() (int, Load) {
	u := v.by.source.Uint64()
	stream := draw.Stream(u)
	for range 2 {
		i := v.c.draw(u)
		if l := v.c.load(i); l.Idle() {
			return i, l
		}
		u = stream.Next()
	}
	if v.c.meter == nil {
		return v.c.leastCount(u)
	}
	return v.least(stream)
}

// least is Least for any meter.
func (v View) least(stream draw.Stream) (int, Load) {
	at, best, tied := 0, v.c.load(0), v.Weight(0) // tied: the weight of the tied ones so far
	for i := 1; i < v.Len(); i++ {
		l := v.c.load(i)
		switch {
		case l.Less(best):
			at, best, tied = i, l, v.Weight(i)
		case l.Equal(best):
			tied += v.Weight(i)
			if draw.Unit(stream.Next())*tied < v.Weight(i) {
				at, best = i, l
			}
		}
	}
	return at, best
}

// A chooser is a policy with what it draws from and what it has prepared.
type chooser struct {
	id     uint64
	policy Policy // a preparing, if it prepares anything
	source draw.Source

	mu   sync.Mutex
	last map[int]any // by tier: what was prepared last
}

// choose asks the policy.
func (by *chooser) choose(c *candidates, key string) (int, Load) {
	return by.policy.Choose(View{c, by, key})
}

// A preparing stands in for a policy that prepares something, so that the others need no
// check.
type preparing struct{ Preparer }

// Choose asks the policy, once it has prepared what it needs.
func (p preparing) Choose(v View) (int, Load) {
	if !v.c.partial && v.c.prepared.find(v.by.id) == nil {
		v.by.prepare(p.Preparer, v.c)
	}
	return p.Preparer.Choose(v)
}

// prepare calls Prepare for one membership, on one goroutine; others wait.
func (by *chooser) prepare(policy Preparer, c *candidates) {
	by.mu.Lock()
	defer by.mu.Unlock()
	if c.prepared.find(by.id) != nil {
		return
	}
	if by.last == nil {
		by.last = map[int]any{}
	}
	value := policy.Prepare(View{c, by, ""}, by.last[c.tier])
	by.last[c.tier] = value
	c.prepared.add(by.id, value)
}
