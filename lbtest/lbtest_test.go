package lbtest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

type pool = evenkeel.Pool[string]
type lease = evenkeel.Lease[string]
type balancer = evenkeel.Balancer[string]

// A wrong balancer is a right one but for the functions that are set.
type wrong struct {
	balancer
	pick  func() (string, error)
	lease func(ctx context.Context) (lease, error)
}

func (w *wrong) Pick() (string, error) {
	if w.pick != nil {
		return w.pick()
	}
	return w.balancer.Pick()
}

func (w *wrong) Lease(ctx context.Context) (lease, error) {
	if w.lease != nil {
		return w.lease(ctx)
	}
	return w.balancer.Lease(ctx)
}

// wrongPolicy is a policy as a function.
type wrongPolicy func(v evenkeel.View) (int, evenkeel.Load)

func (f wrongPolicy) Choose(v evenkeel.View) (int, evenkeel.Load) { return f(v) }

func withPolicy(p *pool, f wrongPolicy) balancer {
	d := evenkeel.NewDispatcher(p, f)
	return &d
}

// TestRunFindsWrongBalancers makes one mistake at a time and names the checks
// that must notice it.
func TestRunFindsWrongBalancers(t *testing.T) {
	background := context.Background()
	tests := map[string]struct {
		construct constructor
		caughtBy  []string
	}{
		"takes two leases and returns one": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				_, _ = b.Lease(ctx)
				return b.Lease(ctx)
			}}
		}, []string{"Counts", "EndsOnce", "OpenLeaseOfRemoved", "Do", "Limit"}},

		"returns leases that have ended": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
				l, err = b.Lease(ctx)
				l.Release()
				return
			}}
		}, []string{"Counts", "OpenLeaseOfRemoved", "Do", "Limit", "Outcomes"}},

		"keeps a count from another pool": {func(p *pool) balancer {
			var names []string
			for b := range p.All() {
				names = append(names, b)
			}
			other, err := evenkeel.NewPool(evenkeel.Config{}, names...)
			require.NoError(t, err)
			return p2c.New(other)
		}, []string{"Counts", "Empty", "AllEjected", "AllDrained", "Eject", "Drain", "Replace", "OpenLeaseOfRemoved", "Outcomes", "Limit", "Concurrent"}},

		"counts its picks": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, pick: func() (string, error) {
				l, err := b.Lease(background)
				return l.Backend(), err
			}}
		}, []string{"PickCountsNothing"}},

		"picks from nowhere": {func(p *pool) balancer {
			return &wrong{balancer: p2c.New(p), pick: func() (string, error) { return "elsewhere", nil }}
		}, []string{"PickCountsNothing", "Empty", "Eject", "Replace", "Concurrent"}},

		"picks what it picked last": {func(p *pool) balancer {
			b := p2c.New(p)
			var last atomic.Pointer[string]
			return &wrong{balancer: b, pick: func() (string, error) {
				if l := last.Load(); l != nil {
					return *l, nil
				}
				l, err := b.Pick()
				if err == nil {
					last.Store(&l)
				}
				return l, err
			}}
		}, []string{"Empty", "Eject", "Drain", "Replace"}},

		"has an error of its own for an empty pool": {func(p *pool) balancer {
			b := p2c.New(p)
			own := errors.New("nobody there")
			return &wrong{balancer: b,
				pick: func() (string, error) {
					backend, err := b.Pick()
					if err != nil {
						err = own
					}
					return backend, err
				},
				lease: func(ctx context.Context) (l lease, err error) {
					if l, err = b.Lease(ctx); errors.Is(err, evenkeel.ErrNoBackends) {
						err = own
					}
					return
				}}
		}, []string{"Empty", "AllEjected", "AllDrained", "Backlog"}},

		"has no error for an empty pool": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
				if l, err = b.Lease(ctx); errors.Is(err, evenkeel.ErrNoBackends) {
					err = nil
				}
				return
			}}
		}, []string{"Empty", "AllEjected", "AllDrained", "Backlog"}},

		"restores all when all are out": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if _, err := b.Pick(); err != nil {
					for backend := range p.All() {
						_ = p.Restore(backend)
						_ = p.SetWeight(backend, 1)
					}
				}
				return b.Lease(ctx)
			}}
		}, []string{"AllEjected", "AllDrained"}},

		"does not look at the context": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if ctx == nil {
					return b.Lease(ctx)
				}
				return b.Lease(context.WithoutCancel(ctx))
			}}
		}, []string{"DeadContext", "Outcomes", "Backlog"}},

		"replaces the context": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if ctx != nil && ctx.Err() == nil {
					ctx = background
				}
				return b.Lease(ctx)
			}}
		}, []string{"Outcomes", "Backlog"}},

		"hides the cause": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if ctx != nil && ctx.Err() != nil {
					return lease{}, ctx.Err()
				}
				return b.Lease(ctx)
			}}
		}, []string{"DeadContext"}},

		"counts before it looks at the context": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
				if ctx == nil {
					return b.Lease(ctx)
				}
				if l, err = b.Lease(context.WithoutCancel(ctx)); err == nil && ctx.Err() != nil {
					return lease{}, context.Cause(ctx)
				}
				l.Release()
				return b.Lease(ctx)
			}}
		}, []string{"DeadContext"}},

		"returns a lease with an error": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
				if ctx == nil {
					return b.Lease(ctx)
				}
				if l, err = b.Lease(context.WithoutCancel(ctx)); err == nil {
					err = context.Cause(ctx)
				}
				return
			}}
		}, []string{"DeadContext"}},

		"panics without a context": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if ctx.Err() != nil {
					return lease{}, context.Cause(ctx)
				}
				return b.Lease(ctx)
			}}
		}, []string{"NilContext"}},

		"takes no context for the background": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if ctx == nil {
					ctx = background
				}
				return b.Lease(ctx)
			}}
		}, []string{"NilContext"}},

		"leases ahead": {func(p *pool) balancer {
			b := p2c.New(p)
			ahead := make(chan *lease, 1)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				select {
				case l := <-ahead:
					defer l.Release()
					return b.LeaseExcept(ctx, others(p, l.Backend())...)
				default:
				}
				l, err := b.Lease(ctx)
				if err == nil {
					ahead <- &l
				}
				return b.Lease(ctx)
			}}
		}, []string{"Counts", "EndsOnce", "Concurrent"}},

		"uses a list of its own": {func(p *pool) balancer {
			b := p2c.New(p)
			first, err := b.Pick()
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				if err != nil || ctx == nil {
					return b.Lease(ctx)
				}
				return b.LeaseFor(ctx, evenkeel.Call[string]{Avoid: others(p, first)})
			}}
		}, []string{"Eject", "Drain", "Replace", "LastOne", "Limit"}},

		"knows one index": {func(p *pool) balancer {
			return withPolicy(p, func(evenkeel.View) (int, evenkeel.Load) { return 1, evenkeel.Load{} })
		}, []string{"Counts", "EndsOnce", "Replace", "LastOne"}},

		"ends calls for another backend": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
				first, err := b.Lease(ctx)
				if err != nil {
					return lease{}, err
				}
				if l, err = b.LeaseFor(ctx, evenkeel.Call[string]{Avoid: []string{first.Backend()}}); err != nil {
					return b.Lease(ctx)
				}
				first.Done(errors.New("tried the next one"))
				return
			}}
		}, []string{"Counts", "Outcomes"}},

		"refuses at the limit with no word of it": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
				if l, err = b.Lease(ctx); errors.Is(err, evenkeel.ErrOverloaded) {
					err = evenkeel.ErrNoBackends
				}
				return
			}}
		}, []string{"Limit"}},

		"refuses to pick at the limit": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, pick: func() (string, error) {
				for backend, s := range p.All() {
					if s.InFlight < 2 {
						return backend, nil
					}
				}
				return "", evenkeel.ErrOverloaded
			}}
		}, []string{"Limit"}},

		"does not wait": {func(p *pool) balancer {
			b := p2c.New(p)
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				for _, s := range p.All() {
					if s.InFlight > 0 && p.Len() == 1 {
						return lease{}, &evenkeel.OverloadedError{}
					}
				}
				return b.Lease(ctx)
			}}
		}, []string{"Backlog"}},

		"keeps a lease when calls come together": {func(p *pool) balancer {
			b := p2c.New(p)
			var under atomic.Int64
			return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
				defer under.Add(-1)
				if under.Add(1) > 1 {
					_, _ = b.Lease(ctx)
				}
				runtime.Gosched()
				return b.Lease(ctx)
			}}
		}, []string{"Concurrent"}},

		"looks before a change and picks after it": {func(p *pool) balancer {
			b := p2c.New(p)
			var mu sync.Mutex
			var looked string
			return &wrong{balancer: b, pick: func() (string, error) {
				backend, err := b.Pick()
				if !mu.TryLock() { // another call is looking: share what it finds
					mu.Lock()
					defer mu.Unlock()
					return looked, err
				}
				defer mu.Unlock()
				if err == nil {
					looked = backend
				}
				for range 100 {
					runtime.Gosched()
				}
				return looked, err
			}}
		}, []string{"Concurrent"}},
	}
	proven := map[string]bool{}
	for name, test := range tests {
		for _, check := range test.caughtBy {
			proven[check] = true
		}
		t.Run(name, func(t *testing.T) {
			caught := map[string]string{}
			for _, c := range checks {
				run := func(t *testing.T) {
					if failed := record(t, func(t testing.TB) { c.run(t, test.construct) }); failed != "" {
						caught[c.name] = failed
					}
				}
				if c.name == "Backlog" {
					// In a bubble time passes at once, so patience costs none.
					synctest.Test(t, run)
				} else {
					run(t)
				}
			}
			for _, name := range test.caughtBy {
				assert.Contains(t, caught, name)
			}
			t.Log(caught)
		})
	}
	for _, c := range checks {
		assert.True(t, proven[c.name], "no wrong balancer is known that %s catches", c.name)
	}
}

// others are all members but one.
func others(p *pool, but string) []string {
	var list []string
	for b := range p.All() {
		if b != but {
			list = append(list, b)
		}
	}
	return list
}

func TestNilBalancer(t *testing.T) {
	nothing := func(*pool) balancer { return nil }
	for _, c := range checks {
		assert.Contains(t, record(t, func(t testing.TB) { c.run(t, nothing) }), "the balancer is nil", c.name)
	}
}

func TestRun(t *testing.T) {
	Run(t, p2c.New[string])
}

// A policy of one line, as a user may write it.
func TestRunOfForeignPolicy(t *testing.T) {
	Run(t, func(p *pool) balancer {
		return withPolicy(p, func(v evenkeel.View) (int, evenkeel.Load) { return v.Len() - 1, evenkeel.Load{} })
	})
}

func TestRequireIdle(t *testing.T) {
	p, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b")
	require.NoError(t, err)
	lb := p2c.New(p)
	check := func() string { return record(t, func(t testing.TB) { RequireIdle(t, p) }) }
	assert.Empty(t, check())

	require.NoError(t, p.Eject("b"))
	one, err := lb.Lease(t.Context())
	require.NoError(t, err)
	two, err := lb.Lease(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.Restore("b"))
	assert.Contains(t, check(), "a: 2;")
	one.Release()
	assert.Contains(t, check(), "a: 1;")

	require.NoError(t, p.Replace("b"))
	assert.Contains(t, check(), "a (removed): 1;")
	two.Release()
	assert.Empty(t, check())

	assert.Contains(t, record(t, func(t testing.TB) { RequireIdle[int](t, nil) }), "nil")
}

// A call that failed stays on the books as load for a while: it is not open.
func TestRequireIdleAfterFailure(t *testing.T) {
	p, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "c")
	require.NoError(t, err)
	require.Error(t, evenkeel.Do(t.Context(), p2c.New(p), func(context.Context, string) error { return errors.New("down") }))
	RequireIdle(t, p)
}
