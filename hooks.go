package evenkeel

import (
	"context"
	"slices"
	"time"
)

// ObserveLeases makes the pool call the hooks for every lease that begins from now on,
// until stop is called; leases that are open then still call End. Without hooks no lease
// reads a clock or allocates for them; with hooks every lease does. stop may be called
// more than once.
func (p *Pool[T]) ObserveLeases(hooks LeaseHooks[T]) (stop func()) {
	h := &hooks
	p.setHooks(func(list []*LeaseHooks[T]) []*LeaseHooks[T] { return append(list, h) })
	return func() {
		p.setHooks(func(list []*LeaseHooks[T]) []*LeaseHooks[T] {
			return slices.DeleteFunc(list, func(other *LeaseHooks[T]) bool { return other == h })
		})
	}
}

func (p *Pool[T]) setHooks(change func([]*LeaseHooks[T]) []*LeaseHooks[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*LeaseHooks[T]
	if old := p.hooks.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if list = change(list); len(list) > 0 {
		p.hooks.Store(&list)
	} else {
		p.hooks.Store(nil)
	}
	if p.snap.Load() != nil {
		p.settle(p.elapsed())
	}
}

// A beginning is what is kept of a lease's begin for those who observe leases. It is the
// lease's context, and holds the caller's.
type beginning[T comparable] struct {
	context.Context
	at     time.Duration
	waited time.Duration
	hooks  []*LeaseHooks[T]
}

// begin calls the Begin hooks of a lease and returns what its end must know. asked is
// when the lease was asked for.
func begin[T comparable](ctx context.Context, hooks []*LeaseHooks[T], backend T, asked, now time.Duration) *beginning[T] {
	b := &beginning[T]{Context: ctx, at: now, waited: now - asked, hooks: hooks}
	for _, h := range hooks {
		if h.Begin != nil {
			h.Begin(LeaseInfo[T]{Backend: backend, Waited: b.waited})
		}
	}
	return b
}

// over calls the End hooks.
func (b *beginning[T]) over(backend T, now time.Duration, outcome Outcome, err error) {
	info := LeaseInfo[T]{Backend: backend, Waited: b.waited, Took: now - b.at, Outcome: outcome, Err: err}
	for _, h := range b.hooks {
		if h.End != nil {
			h.End(info)
		}
	}
}
