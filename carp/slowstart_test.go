package carp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
)

// ramped is a pool whose members are all past their slow start.
func ramped(t *testing.T, backends []string) (*evenkeel.Pool[string], *clock) {
	t.Helper()
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{Off: true}}, backends...)
	c.advance(time.Hour)
	return pool, c
}

func isRamping(pool *evenkeel.Pool[string], backend string) bool {
	for b, s := range pool.All() {
		if b == backend {
			return s.State == evenkeel.StateSlowStart
		}
	}
	return false
}

// Slow start moves each key once: a step moves some of the keys that the newcomer will have
// in the end, and no key moves back or elsewhere.
func TestSlowStartMovesKeysOnce(t *testing.T) {
	backends := servers(5)
	pool, c := ramped(t, backends[:4])
	lb := carp.New(pool)
	before := homes(t, lb, many)
	require.NoError(t, pool.Replace(backends...))
	last, steps, moves := before, 0, 0
	for isRamping(pool, backends[4]) {
		now := homes(t, lb, many)
		list := moved(last, now)
		for _, i := range list {
			require.Equal(t, backends[4], now[i], "step %d, %s", steps, key(i))
		}
		assert.InDelta(t, many/5/10, len(list), 400, "step %d moves a tenth of its keys", steps)
		last, steps, moves = now, steps+1, moves+len(list)
		c.advance(time.Second)
	}
	require.Equal(t, 10, steps)
	assert.Len(t, moved(before, last), moves)
	fresh := carp.New(newPool(t, plain, backends...))
	assert.Equal(t, homes(t, fresh, many), homes(t, lb, many), "in the end it is as if it had always been there")
}

// Where two start slowly at once, no key goes back to where it has left.
func TestTwoSlowStartsMoveNoKeyBack(t *testing.T) {
	backends := servers(6)
	pool, c := ramped(t, backends[:4])
	lb := carp.New(pool)
	past := make([]map[string]bool, many/4)
	last := homes(t, lb, len(past))
	for i := range past {
		past[i] = map[string]bool{}
	}
	look := func() {
		now := homes(t, lb, len(past))
		for _, i := range moved(last, now) {
			past[i][last[i]] = true
			require.NotContains(t, past[i], now[i], key(i))
		}
		last = now
	}
	require.NoError(t, pool.Replace(backends[:5]...))
	for range 4 {
		look()
		c.advance(1100 * time.Millisecond)
	}
	require.NoError(t, pool.Replace(backends...))
	both := 0
	for isRamping(pool, backends[5]) {
		if isRamping(pool, backends[4]) {
			both++
		}
		look()
		c.advance(700 * time.Millisecond)
	}
	assert.Positive(t, both)
	look()
	assert.Equal(t, homes(t, carp.New(newPool(t, plain, backends...)), len(past)), last)
}

// A newcomer's weight is that which was set, times its share; those that are there keep
// their ratio.
func TestSlowStartByWeight(t *testing.T) {
	pool, _ := ramped(t, []string{"A", "B"})
	lb := carp.New(pool)
	require.NoError(t, pool.ReplaceMembers(
		evenkeel.Member[string]{Backend: "A", Weight: 1},
		evenkeel.Member[string]{Backend: "B", Weight: 2},
		evenkeel.Member[string]{Backend: "C", Weight: 3}))
	counts := tally(homes(t, lb, many), []string{"A", "B", "C"})
	share := float64(counts[2]) / many
	assert.Less(t, share, 0.5, "not yet its full share")
	assert.Positive(t, counts[2])
	assert.NoError(t, chisq.Test(counts[:2], 1, 2))
}

// Where all are new nobody is held back, and the keys go where they will stay.
func TestNobodyHeldBackWhereAllAreNew(t *testing.T) {
	backends := servers(5)
	pool := newPool(t, evenkeel.Config{}, backends...)
	want := homes(t, carp.New(newPool(t, plain, backends...)), many/10)
	assert.Equal(t, want, homes(t, carp.New(pool), many/10))
}
