package evenkeel_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// What a user's own functions do wrong costs no count and no lock.

func TestOutcomeThatPanics(t *testing.T) {
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Outcome: func(context.Context, error) evenkeel.Outcome { panic("rule") }}, "A")
	for range 3 { // the place is there again each time
		assert.PanicsWithValue(t, "rule", func() {
			_ = evenkeel.Do(context.Background(), p2c.New(pool), func(context.Context, string) error { return nil })
		})
		assert.Zero(t, pool.InFlight("A"))
	}
}

func TestOutcomeOutOfRangeIsFailure(t *testing.T) {
	for _, o := range []evenkeel.Outcome{-2, -1, 77} {
		pool := newPool(t, evenkeel.Config{Outcome: func(context.Context, error) evenkeel.Outcome { return o }}, "A")
		call(t, p2c.New(pool), ok)
		lease, err := p2c.New(pool).Lease(context.Background())
		require.NoError(t, err)
		lease.DoneAs(o, nil)
		assert.EqualValues(t, 2, stats(pool, "A").Failures, o)
	}
}

func TestOnEventThatPanics(t *testing.T) {
	var told []evenkeel.State
	pool := newPool(t, evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		told = append(told, e.To)
		if e.To == evenkeel.StateRemoved && len(told) == 1 {
			panic("hook")
		}
	}}, "A", "B")
	assert.PanicsWithValue(t, "hook", func() { _ = pool.Replace("C") })
	require.NoError(t, pool.Eject("C"))
	r, in, out := evenkeel.StateRemoved, evenkeel.StateActive, evenkeel.StateEjectedByHand
	assert.Equal(t, []evenkeel.State{r, r, in, out}, told, "the events behind the panic are told later")
}

// switched is a policy that panics while it is told to.
type switched struct{ boom atomic.Bool }

func (p *switched) Choose(evenkeel.View) (int, evenkeel.Load) {
	if p.boom.Load() {
		panic("policy")
	}
	return 0, evenkeel.Load{}
}

func TestPolicyThatPanicsInTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 10, MaxWait: time.Second}, "A", "B", "C")
		policy := &switched{}
		lb := evenkeel.NewDispatcher(pool, policy)
		onC, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A", "B"}})
		require.NoError(t, err)
		waits := func() chan any {
			panicked := make(chan any, 1)
			go func() {
				defer func() { panicked <- recover() }()
				lease, _ := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A", "B"}})
				lease.Release()
			}()
			synctest.Wait()
			return panicked
		}
		first := waits()
		policy.boom.Store(true)
		assert.Panics(t, func() { _, _ = lb.Lease(t.Context()) })
		assert.Equal(t, 1, pool.Backlog().Waiting, "the one that panicked does not stay in the line")
		policy.boom.Store(false)
		onC.Release()
		assert.Nil(t, <-first)
		for b, s := range pool.All() {
			assert.Zero(t, s.InFlight, b)
		}
		q := &queue{t, pool, lb}
		held := q.fill(3)

		// Two places become free at once, and the policy panics over them.
		waiter := q.start(t.Context())
		policy.boom.Store(true)
		assert.Panics(t, func() {
			_ = pool.ReplaceMembers(evenkeel.Member[string]{Backend: "A", Weight: 2},
				evenkeel.Member[string]{Backend: "B", Weight: 2}, evenkeel.Member[string]{Backend: "C", Weight: 1})
		})
		assert.Panics(t, func() { _, _ = lb.Lease(t.Context()) })
		assert.Equal(t, 1, pool.Backlog().Waiting)
		policy.boom.Store(false)
		for _, w := range held {
			w.end()
		}
		require.True(t, waiter.done.Load())
		require.NoError(t, waiter.err)
		waiter.end()
		for b, s := range pool.All() {
			assert.Zero(t, s.InFlight, b)
		}
	})
}

// A retry that waits for one backend keeps nobody from another that is free.
func TestRetryBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 1}, "A", "B")
		lb := sqf.New(pool)
		onB, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() {
			lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
			lease.Release()
			served <- err
		}()
		synctest.Wait()
		require.Equal(t, 1, pool.Backlog().Waiting)
		onA, err := lb.Lease(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "A", onA.Backend())
		_, err = lb.Lease(t.Context())
		require.ErrorIs(t, err, evenkeel.ErrOverloaded)
		onB.Release()
		require.NoError(t, <-served)
		onA.Release()
	})
}

// lateEnd is a context that ends when a test says so, without waking anybody.
type lateEnd struct {
	context.Context
	ended atomic.Bool
}

func (c *lateEnd) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// A trial that is handed to a waiter whose context has just ended is not lost.
func TestTrialHandedToOneWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 5, Now: c.Now}, "A", "B")
		failOn(t, pool, "A", 5)
		q := &queue{t, pool, sqf.New(pool)}
		held := q.fill(1)
		ctx := &lateEnd{Context: context.Background()}
		w := q.start(ctx)
		c.Advance(5 * time.Second)
		pool.SetLoad(each(func(string, int) float64 { return 0 })) // a change: the line is looked at
		ctx.ended.Store(true)
		synctest.Wait()
		if errors.Is(w.err, context.Canceled) {
			next := q.start(t.Context())
			require.True(t, next.done.Load(), "the trial is on offer again")
			assert.Equal(t, "A", next.lease.Backend())
			next.end()
		} else {
			require.True(t, w.done.Load())
			w.end()
		}
		held[0].end()
		assert.Zero(t, pool.InFlight("A"))
	})
}

// "For ever" as a duration is for ever.
func TestEndlessDurations(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{TrialTimeout: math.MaxInt64})}, "A", "B")
	failOn(t, pool, "A", 5)
	c.Advance(5 * time.Second)
	lb := sqf.New(pool)
	got := map[string]int{}
	for range 20 {
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		got[lease.Backend()]++
		c.Advance(time.Hour)
	}
	assert.Equal(t, map[string]int{"A": 1, "B": 19}, got, "one trial")

	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 5, MaxWait: math.MaxInt64, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
		failOn(t, q.pool, "A", 5)
		held := q.fill(1)
		w := q.start(t.Context())
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.True(t, w.done.Load())
		w.end()
		held[0].end()
	})
}

// What T holds need not be comparable, if T is an interface.
func TestBackendThatCannotBeCompared(t *testing.T) {
	_, err := evenkeel.NewPool[any](evenkeel.Config{}, []int{1})
	require.ErrorIs(t, err, evenkeel.ErrBadBackend)
	pool, err := evenkeel.NewPool[any](evenkeel.Config{}, "A")
	require.NoError(t, err)
	require.ErrorIs(t, pool.Replace("B", map[string]int{}), evenkeel.ErrBadBackend)
	require.ErrorIs(t, pool.Eject([]int{1}), evenkeel.ErrUnknownBackend)
	assert.Zero(t, pool.InFlight([]int{1}))
	assert.Equal(t, 1, pool.Len())
}

// A clock that is set back costs no lock.
func TestClockSetBack(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	c.Advance(-time.Hour)
	failOn(t, pool, "A", 5)
	assert.Equal(t, 1, ejected(pool))
}

// Ending a copy of a lease as well is misuse that go vet reports where it can.
func TestCopiedLease(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A")
	lease, err := p2c.New(pool).Lease(context.Background())
	require.NoError(t, err)
	var twin evenkeel.Lease[string]
	reflect.ValueOf(&twin).Elem().Set(reflect.ValueOf(&lease).Elem())
	lease.Release()
	assert.Panics(t, func() { twin.Release() })
	assert.Zero(t, pool.InFlight("A"))
	assert.Equal(t, "A", call(t, p2c.New(pool), ok))
}

// Restore gives the full share also to one that is in slow start.
func TestRestoreEndsSlowStart(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A")
	require.NoError(t, pool.Replace("A", "B"))
	require.NoError(t, pool.Restore("B"))
	assert.InDelta(t, 1, stats(pool, "B").Share, 1e-9)
}

// With a panic share of 1 the checks are believed until they have taken all.
func TestPanicShareOfOne(t *testing.T) {
	pool := newPool(t, evenkeel.Config{PanicShare: 1}, "A", "B")
	require.NoError(t, pool.SetHealth("A", errBroken))
	assert.False(t, stats(pool, "A").Used)
	require.NoError(t, pool.SetHealth("B", errBroken))
	assert.True(t, stats(pool, "A").Used)
	assert.True(t, pool.Stats().Panic, "and it is said")
}

func TestNoEffectWithoutABacklog(t *testing.T) {
	_, err := evenkeel.NewPool(evenkeel.Config{MaxInFlight: 1, MaxWait: time.Second}, "A")
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	assert.ErrorContains(t, err, "MaxWait")
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1}, "A")
	lease, err := sqf.New(pool).Lease(context.Background())
	require.NoError(t, err)
	_, err = sqf.New(pool).Lease(context.Background())
	assert.ErrorContains(t, err, "Config.Backlog is 0")
	lease.Release()
}
