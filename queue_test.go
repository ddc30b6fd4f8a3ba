package evenkeel_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// A freed place goes to the call that came first of those that may use it, whichever
// backends each of them avoids.
func TestOlderRetryIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 10}, "A", "B")
		held := q.fill(2)
		retry := &waiting{}
		go func() {
			lease, err := q.lb.LeaseFor(t.Context(), avoiding("A"))
			retry.lease, retry.err = &lease, err
			retry.done.Store(true)
		}()
		synctest.Wait()
		plain := q.start(t.Context())
		onA, onB := held[0], held[1]
		if onA.lease.Backend() != "A" {
			onA, onB = onB, onA
		}
		onB.end()
		assert.True(t, retry.done.Load(), "it came first")
		require.False(t, plain.done.Load())
		retry.end()
		require.True(t, plain.done.Load())
		plain.end()
		onA.end()
	})
}

// A call that must not wait is told so, also while there is room in the backlog.
func TestNoWaitSaysWhy(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Name: "db", MaxInFlight: 1, Backlog: 5}, "A")
	lb := onto(pool, "A")
	lease, err := lb.Lease(t.Context())
	require.NoError(t, err)
	_, err = lb.LeaseFor(t.Context(), evenkeel.Call[string]{NoWait: true})
	var over *evenkeel.OverloadedError
	require.ErrorAs(t, err, &over)
	assert.Equal(t, evenkeel.ShedNoWait, over.Reason)
	assert.Equal(t, "db", over.Pool)
	assert.Equal(t, uint64(1), pool.Backlog().Shed)
	lease.Release()
}
