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
	m     *member[T]
	ctx   context.Context
	begun *beginning[T] // nil: nobody asked for it
	start uint32
	over  atomic.Uint32
	good  atomic.Uint32 // see Answered
}

// What Lease.good says.
const (
	answeredNot uint32 = iota
	answeredOpen
	answeredOver
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
	if l.m == nil || l.over.Load() != 0 || l.over.Swap(1) != 0 {
		return
	}
	m := l.m
	if l.simple() {
		m.released.Add(1)
		m.uncount()
		return
	}
	l.unanswer()
	m.pool.end(m, l.start, l.begun, OutcomeUnreported, nil)
}

// Done ends the lease and says how the call went: nil is success; what an error means is
// decided by Config.Outcome with the context of the lease.
//
// A pool learns only from calls whose end is reported: a program that reports its errors
// should report its successes too, by Done(nil).
func (l *Lease[T]) Done(err error) {
	if l.m == nil || l.over.Load() != 0 || l.over.Swap(1) != 0 {
		return
	}
	m := l.m
	if err == nil && l.simple() {
		// Others are open that may have begun before, or failures are on record: then the
		// order of this success matters.
		if left := m.uncount(); booked(left) != 0 || m.also.Load() != 0 {
			m.succeeded(l.start)
		}
		return
	}
	l.unanswer()
	m.pool.endAsked(l.ctx, m, l.start, l.begun, err)
}

// DoneAs ends the lease like Done, for a caller that has judged the outcome by itself:
// Config.Outcome is not asked. err is kept as the reason, should the outcome lead to an
// ejection, and may be nil.
func (l *Lease[T]) DoneAs(outcome Outcome, err error) {
	if l.m == nil || l.over.Load() != 0 || l.over.Swap(1) != 0 {
		return
	}
	l.unanswer()
	l.m.pool.end(l.m, l.start, l.begun, outcome.known(), err)
}

// Answered says that the backend has begun to answer well, before the call is over: the
// good header of a response, the first message of a stream. It is evidence at once: a
// trial is passed by it, and slow start and the failures in a row take it for a success.
// The call stays in flight; a failure that ends it later counts as one. Answered counts
// once for a lease, and has no effect after its end.
func (l *Lease[T]) Answered() {
	if l.m == nil || l.over.Load() != 0 || !l.good.CompareAndSwap(answeredNot, answeredOpen) {
		return
	}
	l.m.answered.Add(1)
	l.m.pool.answer(l.m, l.start)
	if l.over.Load() != 0 { // ended meanwhile
		l.unanswer()
	}
}

// unanswer makes the lease's evidence that of its end, once.
func (l *Lease[T]) unanswer() {
	if l.good.CompareAndSwap(answeredOpen, answeredOver) {
		l.m.answered.Add(-1)
	}
}

// Report hands over what the server said of its own load, with its answer or after it. A
// report that is out of range is refused and counted in Stats.BadReports.
func (l *Lease[T]) Report(r Report) {
	if l.m != nil {
		l.m.take(r, l.m.pool.elapsed())
	}
}

// simple reports whether the end of the lease is counting down and no more.
func (l *Lease[T]) simple() bool {
	return l.m.also.Load() == 0 && l.begun == nil && l.good.Load() == answeredNot && l.m.pool.atEnd.Load() == 0
}
