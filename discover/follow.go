package discover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// closeGrace is how long Close waits for a lookup and callbacks that have not ended.
const closeGrace = 500 * time.Millisecond

// A Follower keeps the members of one pool in step with a source until Close. Make one
// with Follow; the zero Follower does nothing, as after Close. Its methods may be called
// from any goroutine.
type Follower struct {
	stop   context.CancelFunc
	over   chan struct{} // closed when no goroutine of the Follower runs any more
	poke   chan struct{}
	record record
}

// Follow waits for the first answer of source, makes it the members of pool, and keeps
// them in step from then on until Close. Lookups get the values of ctx; otherwise ctx
// bounds only the wait for the first answer. A pool should have one Follower, and nobody
// else should replace its members.
//
// The error matches evenkeel.ErrBadConfig, or ErrNoAnswer together with why the last
// lookup brought nothing. After an error nothing runs, and the pool is unchanged.
func Follow[T comparable](ctx context.Context, pool *evenkeel.Pool[T], source Source[T], cfg Config) (*Follower, error) {
	if pool == nil || source == nil || ctx == nil {
		return nil, fmt.Errorf("%w: discover.Follow needs a context, a pool and a source", evenkeel.ErrBadConfig)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	own, stop := context.WithCancel(context.WithoutCancel(ctx))
	f := &Follower{stop: stop, over: make(chan struct{}), poke: make(chan struct{}, 1)}
	seed := cfg.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	l := &loop[T]{
		cfg: cfg, ctx: own, source: source, poke: f.poke,
		random: rand.New(rand.NewPCG(seed, 0)),
		first:  make(chan error, 1), ended: make(chan lookup[T]),
		feed: feed[T]{
			ctx: own, pool: pool, record: &f.record,
			keeper: keeper[T]{maxShrink: cfg.MaxShrink, shrinkAfter: cfg.ShrinkAfter, maxStale: cfg.MaxStale},
		},
	}
	unobserve := pool.Observe(func(e evenkeel.Event) {
		if wantsLookup(e) {
			f.Refresh()
		}
	})
	go func() {
		defer close(f.over)
		defer unobserve()
		l.run()
	}()
	if !cfg.NoWait {
		if err := f.await(ctx, l.first, cfg.FirstAnswer); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// wantsLookup reports whether an event says that the members may not be right any more.
func wantsLookup(e evenkeel.Event) bool {
	switch e.Kind {
	case evenkeel.EventState:
		return e.To == evenkeel.StateEjectedByOutcome || e.To == evenkeel.StateEjectedByHealth
	case evenkeel.EventPanic:
		return true
	}
	return false
}

// await waits for the first answer.
func (f *Follower) await(ctx context.Context, first <-chan error, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	var why error
	select {
	case err := <-first:
		return err
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-timer.C:
		why = fmt.Errorf("waited for %v", most)
	}
	last := f.Stats().Err
	if last == nil {
		last = errors.New("the first lookup has not ended")
	}
	return fmt.Errorf("%w (%w): %w", ErrNoAnswer, why, last)
}

// Refresh makes a lookup come at once, or as soon as Config.MinInterval allows: for
// whoever has reason to think that the members are not right any more. It does not wait.
func (f *Follower) Refresh() {
	select {
	case f.poke <- struct{}{}:
	default: // one is wanted already, or nothing runs
	}
}

// Stats returns how the Follower fares.
func (f *Follower) Stats() Stats { return f.record.get() }

// Close ends a lookup that is under way, and stops. The pool keeps the members that it
// has. When Close has returned nil no goroutine of the Follower runs any more, and the
// pool is not changed any more. A second Close is harmless.
//
// Close returns at once, but for two cases: a lookup does not end although its context
// has, or Close is called within the pool's OnEvent or an observer. Then Close waits for
// half a second and returns an error; the pool is not changed any more all the same, but
// for a change that is under way.
func (f *Follower) Close() error {
	if f == nil || f.stop == nil {
		return nil
	}
	f.stop()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-f.over:
		return nil
	case <-grace.C:
		return fmt.Errorf("discover: closed, but after %v a lookup still runs although its context has ended, or an observer of the pool has not returned", closeGrace)
	}
}
