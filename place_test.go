package evenkeel_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func avoiding(backends ...string) evenkeel.Call[string] {
	return evenkeel.Call[string]{Avoid: backends}
}

// A call is not the trial of a backend that it avoids: that waits for another call.
func TestTrialIsNotForWhoAvoidsIt(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
	lb := sqf.New(pool)
	failOn(t, pool, "A", 5)
	c.Advance(5 * time.Second)
	retry, err := lb.LeaseFor(t.Context(), avoiding("A"))
	require.NoError(t, err)
	assert.Equal(t, "B", retry.Backend())
	first, err := lb.LeaseFor(t.Context(), avoiding("C"))
	require.NoError(t, err)
	assert.Equal(t, "A", first.Backend(), "the trial")
	retry.Release()
	first.Release()
}

// Where there is a limit, a call that finds the policy's choice full looks for a place,
// though not on a backend that it avoids.
func TestFullBackendIsNotReplacedByAnAvoidedOne(t *testing.T) {
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1}, "A", "B", "C")
	b, err := onto(pool, "B").Lease(t.Context())
	require.NoError(t, err)
	first := evenkeel.NewDispatcher(pool, choice(func(evenkeel.View) int { return 0 }))
	c, err := first.LeaseFor(t.Context(), avoiding("A")) // the first of B and C is B
	require.NoError(t, err)
	assert.Equal(t, "C", c.Backend())
	_, err = first.LeaseFor(t.Context(), avoiding("A"))
	require.ErrorIs(t, err, evenkeel.ErrOverloaded)
	b.Release()
	c.Release()
	lbtest.RequireIdle(t, pool)
}

// Two callers before two free places, far apart in the list, are never refused, though
// the places move while they look: no scan that saw each of them taken at its own time
// decides.
func TestNobodyIsRefusedWhilePlacesMove(t *testing.T) {
	const n = 2000
	backends := make([]int, n)
	for i := range backends {
		backends[i] = i
	}
	pool, err := evenkeel.NewPool(evenkeel.Config{MaxInFlight: 1}, backends...)
	require.NoError(t, err)
	at := func(i int) evenkeel.Balancer[int] {
		return evenkeel.NewDispatcher(pool, choice(func(v evenkeel.View) int { return min(i, v.Len()-1) }))
	}
	for i := 1; i < n-1; i++ { // all but the first and the last
		lease, err := at(i).Lease(t.Context())
		require.NoError(t, err)
		require.Equal(t, i, lease.Backend())
		defer lease.Release()
	}
	var over atomic.Bool
	var group sync.WaitGroup
	group.Go(func() { // now on the first, now on the last
		first, last := at(0), at(n-1)
		for !over.Load() {
			for _, lb := range []evenkeel.Balancer[int]{first, last} {
				lease, err := lb.Lease(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				runtime.Gosched() // who looks meanwhile sees this place taken
				lease.Release()
			}
		}
	})
	middle := at(1) // it is full: every call looks at all
	for range 3000 {
		lease, err := middle.Lease(t.Context())
		if !assert.NoError(t, err) {
			break
		}
		lease.Release()
	}
	over.Store(true)
	group.Wait()
}
