package evenkeel

import (
	"context"
	"sync/atomic"
)

// A Lease is one call in flight. It ends, exactly once, by whichever comes first of
// Done, DoneAs and Release; the rest are then harmless, from any goroutine. It outlives
// the removal or ejection of its backend.
//
// A Lease must not be copied: pass it by pointer. go vet reports copies, but not one that
// is sent on a channel; ending a copy too counts down twice, and panics where that can be
// seen. A function that hands a Lease on returns the call that made it, or has named
// results. The zero Lease is one that has ended; its Backend is the zero T.
type Lease[T comparable] struct {
	// Four words in four fields: the compiler keeps no more in registers.
	m     *member[T]
	ctx   context.Context // with hooks: a *beginning
	start uint32
	state atomic.Uint32
}

// What Lease.state says, as bits.
const (
	leaseOver     uint32 = 1 << iota // it has ended
	leaseAnswered                    // see Answered
	leaseHooked                      // its end calls hooks
	leaseTimed                       // how long it takes to answer is measured
)

// Backend returns the backend that was chosen. It stays valid after the end.
func (l *Lease[T]) Backend() T {
	if l.m == nil {
		var zero T
		return zero
	}
	return l.m.backend
}

// Release ends the lease without a word on how the call went: it counts down and neither
// helps nor hurts the backend. Defer it, so that every path counts down: an early return,
// a panic, runtime.Goexit.
func (l *Lease[T]) Release() {
	m := l.m
	if m == nil {
		return
	}
	simple := m.isSimple() // before the atomic operations, which would make it wait
	was, ok := l.end()
	if !ok {
		return
	}
	if was == 0 && simple {
		m.released.Add(1)
		m.uncount()
		return
	}
	l.time(was, false)
	m.pool.end(m, l.start, l.begun(was), OutcomeUnreported, nil)
}

// Done ends the lease and says how the call went: nil is success; what an error means is
// decided by Config.Outcome with the context of the lease.
//
// A pool learns only from calls whose end is reported: a program that reports its errors
// should report its successes too, by Done(nil).
func (l *Lease[T]) Done(err error) {
	m := l.m
	if m == nil {
		return
	}
	simple := m.isSimple() // before the atomic operations, which would make it wait
	was, ok := l.end()
	if !ok {
		return
	}
	if err == nil && was == 0 && simple {
		// Others are open that may have begun before, or failures are on record: then the
		// order of this success matters.
		if left := m.uncount(); booked(left) != 0 || m.also.Load() != 0 {
			m.succeeded(l.start)
		}
		return
	}
	l.time(was, err == nil)
	m.pool.endAsked(l.ctx, m, l.start, l.begun(was), err)
}

// DoneAs ends the lease like Done, for a caller that has judged the outcome by itself:
// Config.Outcome is not asked. err is kept as the reason, should the outcome lead to an
// ejection, and may be nil.
func (l *Lease[T]) DoneAs(outcome Outcome, err error) {
	if l.m == nil {
		return
	}
	if was, ok := l.end(); ok {
		l.time(was, outcome == OutcomeSuccess)
		l.m.pool.end(l.m, l.start, l.begun(was), outcome.known(), err)
	}
}

// Answered says that the backend has begun to answer well, before the call is over: the
// good header of a response, the first message of a stream. It is evidence at once: a
// trial is passed by it, and slow start and the failures in a row take it for a success.
// The call stays in flight; a failure that ends it later counts as one. Answered counts
// once for a lease, and has no effect after its end.
func (l *Lease[T]) Answered() {
	for l.m != nil {
		was := l.state.Load()
		if was&(leaseOver|leaseAnswered) != 0 {
			return
		}
		if l.state.CompareAndSwap(was, was|leaseAnswered) {
			l.time(was, true)
			l.m.answered.Add(1)
			l.m.pool.answer(l.m, l.start)
			return
		}
	}
}

// Report hands over what the server said of its own load, with its answer or after it. A
// report that is out of range is refused and counted in Stats.BadReports. It is best made
// before the end of the lease, and may come after it.
func (l *Lease[T]) Report(r Report) {
	if l.m != nil {
		l.m.pool.takeReport(l.m, r)
	}
}

// time ends the measurement of a lease in this state, if it is measured and still goes on.
func (l *Lease[T]) time(was uint32, good bool) {
	if was&leaseTimed != 0 {
		l.m.pool.endSample(l.m, l.start, good)
	}
}

// leaseOf makes the lease that has been counted under this start number.
func (m *member[T]) leaseOf(ctx context.Context, start uint32) (l Lease[T]) {
	l.m, l.ctx, l.start = m, ctx, start
	l.state.Store(m.timed(start))
	return
}

// timed begins to measure a lease if that is due, and returns the bit that says so.
func (m *member[T]) timed(start uint32) uint32 {
	if m.isDue(start) && m.pool.beginSample(m, start) {
		return leaseTimed
	}
	return 0
}

// end makes the lease one that has ended, and returns its state before. It reports false
// if it had ended.
func (l *Lease[T]) end() (was uint32, ok bool) {
	if l.state.Load()&leaseOver != 0 {
		return 0, false
	}
	was = l.state.Swap(leaseOver)
	if was&leaseAnswered != 0 {
		l.m.answered.Add(-1)
	}
	return was, was&leaseOver == 0
}

// begun returns what hooks must know, nil if there are none.
func (l *Lease[T]) begun(was uint32) *beginning[T] {
	if was&leaseHooked == 0 {
		return nil
	}
	return l.ctx.(*beginning[T])
}
