package evenkeel

import (
	"math"
	"sync/atomic"
)

// MaxLoad is the largest load: what a signal's value is cut to, and what stands
// in for one that is negative or NaN.
const MaxLoad = 1e18

// A slot is the part of a member that picks read and calls write. It is apart from
// the member, so that policies need not be generic; it fills one cache line, so
// that neighbours do not slow each other down; and those made together lie side
// by side, so that a scan reads memory in order.
type slot struct {
	// word is what a pick looks at and counts in, in one piece, so that a change
	// of either half is seen: the upper 32 bits number the leases begun (the
	// order of starts, modulo 2^32), the lower 32 are the calls on the books.
	word atomic.Uint64

	// good is the upper half: successes counted toward ejection, modulo 2^32;
	// lower half: the start number of the newest lease that succeeded.
	good atomic.Uint64

	// attend says that the end of a lease needs more than counting (see attend*).
	attend atomic.Uint32

	// floor is the start number at the last change of state: outcomes of leases
	// that began up to then count no more.
	floor atomic.Uint32

	// held counts failed calls that are kept on the books for a while although
	// they are over: a failure is never cheap (debt.go). They are part of word,
	// and InFlight takes them off again.
	held atomic.Int32

	limit     atomic.Int32  // most calls in flight; 0: no limit
	badSignal atomic.Uint64 // values of the user's signal that were out of range
	debt      *debt

	_ [8]byte
}

// newSlots returns a function that gives new slots, n or so of them from one piece
// of memory.
func newSlots(n int) func() *slot {
	var chunk []slot
	return func() *slot {
		if len(chunk) == 0 {
			chunk = make([]slot, max(n, 1))
		}
		s := &chunk[0]
		chunk = chunk[1:]
		s.debt = new(debt)
		return s
	}
}

const oneStart = 1 << 32

func starts(word uint64) uint32 { return uint32(word >> 32) }
func booked(word uint64) int    { return int(uint32(word)) }

// newer reports whether start number a is after b, modulo 2^32.
func newer(a, b uint32) bool { return int32(a-b) > 0 }

// inFlight is the number of calls that are really open.
func (s *slot) inFlight() int {
	for {
		w := s.word.Load()
		held := int(s.held.Load())
		if s.word.Load() == w { // no lease began or ended in between
			return max(booked(w)-held, 0)
		}
	}
}

// count adds one call, if the word is still what the policy saw, and returns the
// call's start number.
func (s *slot) count(seen Load) (start uint32, ok bool) {
	if seen.word == 0 {
		return starts(s.word.Add(oneStart + 1)), true
	}
	next := seen.word + oneStart + 1
	return starts(next), s.word.CompareAndSwap(seen.word, next)
}

// countBelow adds one call unless the limit is reached. A limit of 0 is none.
func (s *slot) countBelow() (start uint32, ok bool) {
	limit := s.limit.Load()
	for {
		w := s.word.Load()
		if limit > 0 && booked(w)-int(s.held.Load()) >= int(limit) {
			return 0, false
		}
		if s.word.CompareAndSwap(w, w+oneStart+1) {
			return starts(w + oneStart), true
		}
	}
}

// uncount takes one call off the books.
func (s *slot) uncount() {
	if uint32(s.word.Add(^uint64(0))) == math.MaxUint32 {
		s.word.Add(1)
		panic("evenkeel: a lease was ended twice: it must not be copied")
	}
}

// succeeded counts a success toward ejection.
func (s *slot) succeeded(start uint32) {
	if !newer(start, s.floor.Load()) {
		return
	}
	for {
		g := s.good.Load()
		newest := uint32(g)
		if newer(start, newest) {
			newest = start
		}
		if s.good.CompareAndSwap(g, (g>>32+1)<<32|uint64(newest)) {
			return
		}
	}
}

// Load is what policies compare: one number for each backend, at least 0 and at
// most MaxLoad, whatever it is made of. It also remembers the count it was made
// from: a lease is counted only if that has not changed since, else the pick is
// made anew, a bounded number of times. The zero Load stands for "did not look":
// a policy that compares nothing returns it and never has to look again.
type Load struct {
	value float64
	word  uint64 // never 0 where looked at, but once in 2^32 leases, which is harmless
}

// Less reports whether a is the smaller load.
func (a Load) Less(b Load) bool { return a.value < b.value }

// Equal reports whether the two loads tie.
func (a Load) Equal(b Load) bool { return a.value == b.value }

// Idle reports whether the load is 0, the least there is: a scan that has found
// such a backend can find no better one.
func (a Load) Idle() bool { return a.value == 0 }

// Value returns the number itself: with default settings the calls in flight,
// plus the failed ones still on the books, divided by the backend's weight.
func (a Load) Value() float64 { return a.value }

// candidates are the backends one pick may choose from. They never change after
// they are made; only the slots' counters do.
type candidates struct {
	slots   []*slot
	ids     []uint64              // each backend's number in its pool, for life
	version uint64                // differs whenever slots or weights differ
	plain   bool                  // the load is the count: no weights, no signals
	weights []float64             // nil: all equal
	alias   *aliasTable           // draws by weight; nil: all equal
	signals []func(n int) float64 // the user's load signal; nil: the count
	partial bool                  // some that are in are left out of this pick
}

// load makes the load of candidate i where it is more than the plain count:
// (signal or calls in flight + failures on the books) / weight.
func (c *candidates) load(i int) Load {
	s := c.slots[i]
	w := s.word.Load()
	value := float64(uint32(w))
	if c.signals != nil {
		held := float64(s.held.Load())
		v := c.signals[i](int(max(value-held, 0)))
		switch {
		case v >= 0 && v <= MaxLoad:
		case v > MaxLoad: // +Inf too: as loaded as can be
			v = MaxLoad
		default: // negative or NaN: a broken signal must not draw traffic
			s.badSignal.Add(1)
			v = MaxLoad
		}
		value = v + held
	}
	if c.weights != nil {
		value /= c.weights[i]
	}
	return Load{min(value, MaxLoad), w}
}
