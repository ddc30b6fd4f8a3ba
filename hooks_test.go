package evenkeel_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// Hooks are called at the begin and at the end of every lease, whichever way it ends.
func TestHooksSeeEveryLease(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A")
	lb := sqf.New(pool)
	var begun, ended []evenkeel.LeaseInfo[string]
	stop := pool.ObserveLeases(evenkeel.LeaseHooks[string]{
		Begin: func(l evenkeel.LeaseInfo[string]) { begun = append(begun, l) },
		End:   func(l evenkeel.LeaseInfo[string]) { ended = append(ended, l) },
	})
	for _, how := range []struct {
		end  func(*evenkeel.Lease[string])
		want evenkeel.Outcome
		err  error
	}{
		{func(l *evenkeel.Lease[string]) { l.Done(nil) }, evenkeel.OutcomeSuccess, nil},
		{func(l *evenkeel.Lease[string]) { l.Done(errBroken) }, evenkeel.OutcomeFailure, errBroken},
		{func(l *evenkeel.Lease[string]) { l.DoneAs(evenkeel.OutcomeNeutral, nil) }, evenkeel.OutcomeNeutral, nil},
		{func(l *evenkeel.Lease[string]) { l.Release() }, evenkeel.OutcomeUnreported, nil},
	} {
		begun, ended = nil, nil
		lease, err := lb.Lease(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []evenkeel.LeaseInfo[string]{{Backend: "A"}}, begun)
		assert.Empty(t, ended)
		c.Advance(time.Second)
		how.end(&lease)
		lease.Release()
		assert.Equal(t, []evenkeel.LeaseInfo[string]{{Backend: "A", Took: time.Second, Outcome: how.want, Err: how.err}}, ended)
	}

	begun, ended = nil, nil
	open, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Key: "k"})
	require.NoError(t, err)
	stop()
	stop()
	later, err := lb.Lease(t.Context())
	require.NoError(t, err)
	later.Done(nil)
	assert.Len(t, begun, 1)
	assert.Empty(t, ended)
	open.Done(nil)
	assert.Len(t, ended, 1, "a lease that was open when the hooks were taken off calls End")
	lbtest.RequireIdle(t, pool)
}

// The time in the backlog is told apart from the time of the call.
func TestHooksSeeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 1}, "A")
		var ended []evenkeel.LeaseInfo[string]
		pool.ObserveLeases(evenkeel.LeaseHooks[string]{End: func(l evenkeel.LeaseInfo[string]) { ended = append(ended, l) }})
		q := &queue{t, pool, sqf.New(pool)}
		held := q.fill(1)
		next := q.start(t.Context())
		time.Sleep(3 * time.Second)
		held[0].end()
		synctest.Wait()
		require.True(t, next.done.Load())
		time.Sleep(time.Second)
		next.end()
		require.Len(t, ended, 2)
		assert.Equal(t, 3*time.Second, ended[1].Waited)
		assert.Equal(t, time.Second, ended[1].Took)
	})
}

// A hook that panics at the begin leaves nothing in flight, and its panic goes on.
func TestHookThatPanics(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	stop := pool.ObserveLeases(evenkeel.LeaseHooks[string]{Begin: func(evenkeel.LeaseInfo[string]) { panic("hook") }})
	assert.PanicsWithValue(t, "hook", func() { _, _ = sqf.New(pool).Lease(t.Context()) })
	lbtest.RequireIdle(t, pool)
	stop()
	lease, err := sqf.New(pool).Lease(t.Context())
	require.NoError(t, err)
	lease.Release()
}
