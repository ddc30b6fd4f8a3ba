package evenkeel

import "github.com/evenkeel-go/evenkeel/internal/draw"

// maxLoad is the largest load: what a signal's value is cut to, and what stands in for
// one that is negative or NaN.
const maxLoad = 1e18

// Load is what policies compare: one number for each backend, from 0 to 1e18, whatever
// it is made of. It also remembers the count that it was made from: a lease is counted
// only if the count has not changed since; otherwise the pick is made again, a bounded
// number of times. The zero Load stands for "did not look": a policy that compares
// nothing returns it and never has to look again.
type Load struct {
	value float64
	word  uint64 // never 0 where looked at, but once in 2^32 leases, which is harmless
}

// Less reports whether a is the smaller load.
func (a Load) Less(b Load) bool { return a.value < b.value }

// Equal reports whether the two loads tie.
func (a Load) Equal(b Load) bool { return a.value == b.value }

// Idle reports whether the load is 0, the least there is: a scan that has found such a
// backend can find no better one.
func (a Load) Idle() bool { return a.value == 0 }

// Value returns the number itself: with default settings the calls in flight, plus the
// penalty for failed ones, divided by the backend's weight.
func (a Load) Value() float64 { return a.value }

// candidates are the backends that one pick may choose from. They never change after
// they are made; only the slots' counters do.
type candidates struct {
	slots   []*slot
	who     []*identity
	ledgers []*ledger
	partial bool             // some that are in rotation are left out of this pick
	weights []float64        // nil: all equal
	shares  []float64        // of the weights, that slow start allows; nil: all alike
	alias   *draw.AliasTable // draws by weight; nil: all equal
	meter   meter            // nil: the load is the count

	tier     int
	prepared preparations
}

// An identity is what stays the same of a member for life.
type identity struct {
	id      uint64
	hash    uint64
	backend any
}

// A meter makes a load of more than the plain count. Which one is chosen when a
// snapshot is made.
type meter interface {
	load(c *candidates, i int) Load
}

// load makes the load of candidate i.
func (c *candidates) load(i int) Load {
	if c.meter != nil {
		return c.meter.load(c, i)
	}
	w := c.slots[i].word.Load()
	return Load{float64(uint32(w)), w}
}

// countPerWeight is the meter for weights that differ: (calls in flight + penalty) /
// weight.
type countPerWeight struct{}

func (countPerWeight) load(c *candidates, i int) Load {
	w := c.slots[i].word.Load()
	if isBarred(w) {
		return Load{maxLoad, w}
	}
	return Load{min(float64(booked(w))/c.weights[i], maxLoad), w}
}

// estimates is the meter for what reports and latencies say: (estimate of what the
// backend holds + penalty, raised by its slowness) / weight.
type estimates struct{}

func (estimates) load(c *candidates, i int) Load {
	s := c.slots[i]
	w := s.word.Load()
	if isBarred(w) {
		return Load{maxLoad, w}
	}
	value := s.estimate(w)
	if c.weights != nil {
		value /= c.weights[i]
	}
	return Load{min(value, maxLoad), w}
}

// estimate is the load of a backend with this word, before it is divided by a weight.
// Where nothing is believed of the backend it is the count.
func (s *slot) estimate(w uint64) float64 {
	load := float64(booked(w))
	if held := s.held.Load(); held != 0 {
		penalty := int(s.penalty.Load())
		load = holds(held, w, max(booked(w)-penalty, 0)) + float64(penalty)
	}
	if slow := s.slowness.Load(); slow > 0 {
		load = (load+1)*float64(uint64(1)<<slow) - 1
	}
	return load
}

// signals is the meter for the user's own signal: (signal + penalty) / weight.
type signals struct {
	of []func(inFlight int) float64
}

func (m *signals) load(c *candidates, i int) Load {
	s := c.slots[i]
	w := s.word.Load()
	if isBarred(w) {
		return Load{maxLoad, w}
	}
	penalty := int(s.penalty.Load())
	value := float64(max(booked(w)-penalty, 0))
	if m.of[i] != nil {
		raw := m.of[i](int(value))
		if !(raw >= 0) {
			c.ledgers[i].badSignal.Add(1)
		}
		value = clip(raw)
	}
	value += float64(penalty)
	if c.weights != nil {
		value /= c.weights[i]
	}
	return Load{min(value, maxLoad), w}
}

// clip cuts a signal's value to the range of loads. One that is negative or NaN is the
// largest load: a broken signal must not draw traffic.
func clip(value float64) float64 {
	if value >= 0 {
		return min(value, maxLoad)
	}
	return maxLoad
}

// count adds one call, if the backend is in rotation and its word is still what the policy
// saw, where it looked, and returns the call's start number.
func (s *slot) count(seen Load) (start uint32, ok bool) {
	if start, ok = s.countSeen(seen); !ok {
		start, ok = s.countUnseen(seen)
	}
	return start, ok
}

// countSeen is count for a policy that looked. For one that did not it counts nothing.
func (s *slot) countSeen(seen Load) (start uint32, ok bool) {
	next := seen.word + oneStart + 1
	if seen.word == 0 || isBarred(seen.word) || !s.word.CompareAndSwap(seen.word, next) {
		return 0, false
	}
	s.turn(next)
	return starts(next), true
}

// countUnseen is count for a policy that did not look. For one that did it counts nothing.
func (s *slot) countUnseen(seen Load) (start uint32, ok bool) {
	if seen.word != 0 {
		return 0, false
	}
	next := s.word.Add(oneStart + 1)
	s.turn(next)
	if isBarred(next) {
		s.other.Add(1)
		s.uncount()
		return 0, false
	}
	return starts(next), true
}
