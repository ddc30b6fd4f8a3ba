package evenkeel

import (
	"context"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// A Balancer chooses a backend for each call. *Dispatcher is the one of this module;
// lbtest checks any other. One that wraps another embeds it and passes on what it does
// not change.
type Balancer[T comparable] interface {
	// Pick chooses a backend and counts nothing. It never blocks.
	Pick() (T, error)
	// Lease chooses a backend and counts one call in flight there.
	Lease(ctx context.Context) (Lease[T], error)
	// LeaseFor is Lease for a call with particulars. With the zero Call it is Lease.
	LeaseFor(ctx context.Context, call Call[T]) (Lease[T], error)
}

// A Dispatcher is a pool together with the policy that picks from it; many may share one
// pool. It is the Balancer of every policy package. The zero Dispatcher, a nil one, and
// one that was made from a nil or zero pool refuse every call with an error that matches
// ErrBadConfig.
type Dispatcher[T comparable] struct {
	pool *Pool[T]
	by   chooser
}

// NewDispatcher binds policy to pool, which NewPool must have made. Its random draws
// differ in every process.
func NewDispatcher[T comparable](pool *Pool[T], policy Policy) *Dispatcher[T] {
	return NewSeededDispatcher(pool, policy, 0)
}

// NewSeededDispatcher is NewDispatcher with random draws that are a fixed sequence, so
// that a run can be repeated. A seed of 0 is none.
func NewSeededDispatcher[T comparable](pool *Pool[T], policy Policy, seed uint64) *Dispatcher[T] {
	d := &Dispatcher[T]{pool: pool}
	if pool != nil && pool.snap.Load() == nil {
		d.pool = nil // a zero Pool: refused with the same error
	}
	d.by.id, d.by.policy, d.by.source = lastID.Add(1), policy, draw.NewSource(seed)
	if p, ok := policy.(Preparer); ok {
		d.by.policy = preparing{p}
	}
	return d
}

// Pool returns the pool that is picked from, nil for a Dispatcher that refuses every
// call.
func (d *Dispatcher[T]) Pool() *Pool[T] {
	if d == nil {
		return nil
	}
	return d.pool
}

// Pick chooses a backend and counts nothing, so it is for callers that do their own
// counting, or none: two picks in a row see the same loads. It never blocks and pays no
// heed to Config.MaxInFlight. The error matches ErrNoBackends or ErrBadConfig.
func (d *Dispatcher[T]) Pick() (backend T, err error) {
	if d == nil || d.pool == nil || d.by.policy == nil {
		return backend, d.missing(context.Background())
	}
	s := d.pool.snap.Load()
	for look := 1; ; look++ {
		g := &s.group
		if !s.calm.Load() {
			if s = d.pool.upToDate(s); len(s.in) == 0 {
				return backend, s.none
			}
			g = d.pool.groupFor(s, &d.by, "")
		}
		i, _ := d.by.choose(&g.candidates, "")
		if m := g.in[i]; !isBarred(m.word.Load()) {
			return m.backend, nil
		}
		if look%looks == 0 {
			d.pool.refresh()
		}
		s = d.pool.snap.Load()
	}
}

// Lease chooses a backend and counts one call in flight there until the lease ends. It
// waits only where Config.MaxInFlight and Backlog say so and every backend is at its
// limit; then it gives up when ctx does.
//
// The error is context.Cause(ctx) if ctx is done, before anything is counted; otherwise
// it matches ErrNoBackends, ErrOverloaded or ErrBadConfig. With an error the Lease is the
// zero Lease and no count has changed.
func (d *Dispatcher[T]) Lease(ctx context.Context) (Lease[T], error) {
	if ctx == nil || d == nil || d.pool == nil || d.by.policy == nil {
		return Lease[T]{}, d.missing(ctx)
	}
	if ctx.Err() != nil {
		return Lease[T]{}, context.Cause(ctx)
	}
	if s := d.pool.snap.Load(); s.calm.Load() {
		i, seen := d.by.choose(&s.candidates, "")
		slot := s.slots[i] // the member's; its own memory need not be there yet
		start, ok := slot.countSeen(seen)
		if !ok {
			start, ok = slot.countUnseen(seen)
		}
		if ok && !slot.isDue(start) {
			return Lease[T]{m: s.in[i], ctx: ctx, start: start}, nil
		}
		if ok {
			return s.in[i].leaseOf(ctx, start), nil
		}
	}
	return d.lease(ctx, Call[T]{})
}

// LeaseFor is Lease for a call with particulars. The error also matches ErrNoBackends
// when call.Avoid names all backends that could be used, and ErrOverloaded when
// call.NoWait forbids to wait.
func (d *Dispatcher[T]) LeaseFor(ctx context.Context, call Call[T]) (Lease[T], error) {
	if ctx == nil || d == nil || d.pool == nil || d.by.policy == nil {
		return Lease[T]{}, d.missing(ctx)
	}
	if ctx.Err() != nil {
		return Lease[T]{}, context.Cause(ctx)
	}
	return d.lease(ctx, call)
}

// missing says what a call or the Dispatcher lacks.
func (d *Dispatcher[T]) missing(ctx context.Context) error {
	switch {
	case ctx == nil:
		return errNilContext
	case d == nil || d.pool == nil:
		return errNoPool
	}
	return errNoPolicy
}

// looks is how often a pick that loses a race looks again before it counts whatever it
// chose. Each look lost means that another call was placed or ended meanwhile.
const looks = 8

// lease is Lease in full: the hooks around it.
func (d *Dispatcher[T]) lease(ctx context.Context, call Call[T]) (l Lease[T], err error) {
	hooks := d.pool.hooks.Load()
	if hooks == nil {
		m, start, err := d.pool.lease(ctx, &d.by, call)
		if err != nil {
			return Lease[T]{}, err
		}
		return m.leaseOf(ctx, start), nil
	}
	asked := d.pool.elapsed()
	m, start, err := d.pool.lease(ctx, &d.by, call)
	if err != nil {
		return
	}
	defer func() {
		if l.m == nil { // a hook has panicked: the lease will not return
			d.pool.ended(m, start, OutcomeNeutral, nil)
		}
	}()
	began := begin(ctx, *hooks, m.backend, asked, d.pool.elapsed())
	l.m, l.ctx, l.start = m, began, start
	l.state.Store(leaseHooked | m.timed(start))
	return
}

// lease counts a call in: what is due, trials, limits, waiting, and races that were lost.
func (p *Pool[T]) lease(ctx context.Context, by *chooser, call Call[T]) (*member[T], uint32, error) {
	for look := 1; ; look++ {
		s := p.upToDate(p.snap.Load())
		if p.backlog.waiting.Load() == 0 { // else a trial is the oldest waiter's
			if m, start, ok := p.takeTrial(call.Avoid); ok {
				return m, start, nil
			}
		}
		g := p.groupFor(s, by, call.Key).without(call.Avoid)
		if len(g.in) == 0 {
			if g = s.anyWithout(call.Avoid); g == nil {
				return nil, 0, s.nobody(call.Avoid)
			}
		}
		if p.cfg.MaxInFlight > 0 {
			return p.leaseLimited(ctx, s, g, by, call)
		}
		if m, start, ok := g.take(by, call.Key, look > looks); ok {
			return m, start, nil
		}
		if look%(2*looks) == 0 {
			p.refresh() // what was chosen again and again has left the rotation
		}
	}
}

// leaseLimited is lease where Config.MaxInFlight is set: it looks at the room of all only
// if the policy's choice has none.
func (p *Pool[T]) leaseLimited(ctx context.Context, s *snapshot[T], g *group[T], by *chooser, call Call[T]) (*member[T], uint32, error) {
	if p.backlog.waiting.Load() == 0 {
		i, _ := by.choose(&g.candidates, call.Key)
		m := g.in[i]
		start, ok := m.countBelow(false)
		if !ok {
			m, start, ok = p.takeWithRoom(s, by, call.Key, call.Avoid)
		}
		if ok {
			p.noteOverload(false)
			return m, start, nil
		}
	}
	m, start, err := p.wait(ctx, by, call)
	if _, overloaded := err.(*OverloadedError); overloaded {
		p.noteOverload(true)
	}
	return m, start, err
}

// noteOverload makes an event of the first call that is refused, and of the first one
// after that which finds a place at once.
func (p *Pool[T]) noteOverload(is bool) {
	if p.overloaded.Load() == is || !p.overloaded.CompareAndSwap(!is, is) {
		return
	}
	kind := EventOverload
	if !is {
		kind = EventOverloadEnded
	}
	p.mu.Lock()
	p.queueEvent(Event{Kind: kind}, p.elapsed())
	p.mu.Unlock()
	p.deliver()
}
