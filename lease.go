package evenkeel

import (
	"context"
	"sync/atomic"
)

// looks is how often a pick that loses a race looks again before it counts
// whatever it chose. Each look lost means that another call was placed or ended
// meanwhile.
const looks = 8

// A Balancer chooses a backend for each call. The Balancer of every policy
// package is one; lbtest checks any other.
type Balancer[T comparable] interface {
	// Pick chooses a backend and counts nothing. It never blocks.
	Pick() (T, error)
	// Lease chooses a backend and counts one call in flight there.
	Lease(ctx context.Context) (Lease[T], error)
}

// A Lease is one call in flight. It ends, exactly once, by whichever comes first
// of Done, DoneAs and Release; the rest are then harmless, from any goroutine. It
// outlives the removal or ejection of its backend.
//
// A Lease must not be copied: pass it by pointer. go vet reports copies, but not
// one that is sent on a channel; ending a copy too counts down twice, and panics
// where it can be seen. A function that hands a Lease on returns the call that made
// it, or has named results. The zero Lease is one that has ended; its Backend is
// the zero T.
type Lease[T comparable] struct {
	m     *member[T]
	ctx   context.Context
	start uint32
	over  atomic.Uint32
}

// Backend returns the backend that was chosen. It stays valid after the end.
func (l *Lease[T]) Backend() T {
	if l.m == nil {
		var zero T
		return zero
	}
	return l.m.backend
}

// Release ends the lease without a word on how the call went: it counts down and
// neither helps nor hurts the backend. Defer it, so that every path counts down:
// an early return, a panic, runtime.Goexit.
func (l *Lease[T]) Release() {
	if l.m == nil || l.over.Swap(1) != 0 {
		return
	}
	m := l.m
	if m.attend.Load()&^attendSuccess == 0 && m.pool.debtors.Load() == nil {
		m.uncount()
		return
	}
	m.pool.ended(m, l.start, unsaid, nil)
}

// Done ends the lease and tells the pool how the call went: nil is success, what
// an error means is decided by Config.Outcome with the context of the lease.
//
// A pool learns only from calls that tell: a program that reports its errors
// should report its successes too, by Done(nil).
func (l *Lease[T]) Done(err error) {
	if l.m == nil || l.over.Swap(1) != 0 {
		return
	}
	m := l.m
	if a := m.attend.Load(); err == nil && a&^attendSuccess == 0 && m.pool.debtors.Load() == nil {
		m.uncount()
		if a == attendSuccess {
			m.succeeded(l.start)
		}
		return
	}
	m.pool.endedWith(l.ctx, m, l.start, err)
}

// DoneAs ends the lease like Done, for a caller that has judged the outcome by
// itself: Config.Outcome is not asked. err is kept as the reason, should the
// outcome lead to an ejection, and may be nil.
func (l *Lease[T]) DoneAs(outcome Outcome, err error) {
	if l.m == nil || l.over.Swap(1) != 0 {
		return
	}
	l.m.pool.ended(l.m, l.start, outcome.known(), err)
}

// What the end of a lease must attend to beyond counting down, as bits of
// slot.attend.
const (
	attendSuccess uint32 = 1 << iota // successes are counted (ejection is on)
	attendOutcome                    // Config.Outcome must be asked of nil errors too
	attendState                      // the backend is on trial or in slow start
	attendLimit                      // calls may be waiting for this place
)

// unsaid is the outcome of Release: like OutcomeNeutral, but not because the
// caller gave up.
const unsaid Outcome = -1

// A Dispatcher is a pool together with the policy that picks from it; many may
// share one pool. The policy packages embed one in their Balancer. It implements
// Balancer. The zero Dispatcher, like one made from a nil or zero pool, refuses
// every call with an error that matches ErrNil.
type Dispatcher[T comparable] struct {
	pool   *Pool[T]
	policy Policy
}

// NewDispatcher binds policy to pool, which NewPool must have made.
func NewDispatcher[T comparable](pool *Pool[T], policy Policy) Dispatcher[T] {
	if pool != nil && pool.snap.Load() == nil {
		pool = nil // a zero Pool: refused with the same error
	}
	return Dispatcher[T]{pool: pool, policy: policy}
}

// Pool returns the pool that is picked from.
func (d *Dispatcher[T]) Pool() *Pool[T] { return d.pool }

// Pick chooses a backend and counts nothing, so it is for callers that do their
// own counting, or none: two picks in a row see the same loads. It never blocks
// and pays no heed to Config.MaxInFlight. The error matches ErrNoBackends or
// ErrNil.
func (d *Dispatcher[T]) Pick() (backend T, err error) {
	if d.pool == nil || d.policy == nil {
		return backend, errNoPool
	}
	s := d.pool.snap.Load()
	if !s.calm {
		if s = d.pool.upToDate(s); len(s.in) == 0 {
			return backend, s.none
		}
	}
	i, _ := d.policy.Choose(View{&s.candidates})
	return s.in[i].backend, nil
}

// Lease chooses a backend and counts one call in flight there until the lease
// ends. It waits only where Config.MaxInFlight and Backlog say so and every
// backend is at its limit; then it gives up when ctx does.
//
// The error is context.Cause(ctx) if ctx is done, before anything is counted;
// otherwise it matches ErrNoBackends, ErrOverloaded or ErrNil. With an error the
// Lease is the zero Lease and no count has changed.
func (d *Dispatcher[T]) Lease(ctx context.Context) (Lease[T], error) {
	if ctx == nil || d.pool == nil || d.policy == nil {
		return Lease[T]{}, d.missing(ctx)
	}
	if ctx.Err() != nil {
		return Lease[T]{}, context.Cause(ctx)
	}
	s := d.pool.snap.Load()
	if s.calm {
		i, seen := d.policy.Choose(View{&s.candidates})
		m := s.in[i]
		// Counted on what the policy saw, and still in after that: else again.
		if start, ok := m.count(seen); ok && d.pool.snap.Load() == s {
			return Lease[T]{m: m, ctx: ctx, start: start}, nil
		} else if ok {
			d.pool.withdraw(m)
		}
	}
	m, start, err := d.pool.lease(ctx, d, nil)
	return Lease[T]{m: m, ctx: ctx, start: start}, err
}

// LeaseExcept is Lease for a call that is tried again: it chooses among the
// backends that are not in tried. When those are all the backends there are it
// fails with an error that matches ErrNoBackends. It allocates.
func (d *Dispatcher[T]) LeaseExcept(ctx context.Context, tried ...T) (Lease[T], error) {
	if ctx == nil || d.pool == nil || d.policy == nil {
		return Lease[T]{}, d.missing(ctx)
	}
	if ctx.Err() != nil {
		return Lease[T]{}, context.Cause(ctx)
	}
	m, start, err := d.pool.lease(ctx, d, tried)
	return Lease[T]{m: m, ctx: ctx, start: start}, err
}

func (d *Dispatcher[T]) missing(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	return errNoPool
}

// Do makes one call: it leases a backend from lb, runs fn with ctx and that
// backend, and ends the lease with what fn returned, which is also Do's result.
// When fn panics or calls runtime.Goexit the lease is released and the panic goes
// on unchanged. When no backend can be leased fn does not run and the error is
// Lease's.
func Do[T comparable](ctx context.Context, lb Balancer[T], fn func(ctx context.Context, backend T) error) error {
	if lb == nil || fn == nil {
		return errNilDo
	}
	lease, err := lb.Lease(ctx)
	if err != nil {
		return err
	}
	defer lease.Release()
	err = fn(ctx, lease.Backend())
	lease.Done(err)
	return err
}
