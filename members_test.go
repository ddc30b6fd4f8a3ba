package evenkeel_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// A backend that was ejected by hand and removed is remembered for 5 minutes, and
// forgotten after that.
func TestRemovedBackendIsForgotten(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	require.NoError(t, pool.Eject("B"))
	require.NoError(t, pool.Replace("A"))
	c.Advance(5*time.Minute - time.Second)
	_, err := sqf.New(pool).Pick()
	require.NoError(t, err)
	require.NoError(t, pool.Eject("B"), "it is known")
	c.Advance(time.Second)
	_, err = sqf.New(pool).Pick()
	require.NoError(t, err)
	assert.ErrorIs(t, pool.Eject("B"), evenkeel.ErrUnknownBackend)
}

// Of many backends that are ejected by hand and removed the first ones are forgotten,
// unless leases on them are open.
func TestRememberedBackendsHaveABound(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A")
	removed := func(b string) {
		require.NoError(t, pool.Replace("A", b))
		require.NoError(t, pool.Eject(b))
		require.NoError(t, pool.Replace("A"))
	}
	require.NoError(t, pool.Replace("A", "open"))
	open, err := onto(pool, "open").Lease(t.Context())
	require.NoError(t, err)
	require.Equal(t, "open", open.Backend())
	removed("open")
	removed("first")
	for i := range 1023 {
		removed(strconv.Itoa(i))
	}
	require.NoError(t, pool.Eject("first"), "it is known: with it there are 1024 besides the open one")
	removed("last")
	assert.ErrorIs(t, pool.Eject("first"), evenkeel.ErrUnknownBackend)
	assert.NoError(t, pool.Eject("last"))
	assert.Equal(t, 1, pool.InFlight("open"))
	require.NoError(t, pool.Replace("A", "first", "open"))
	assert.Equal(t, 1, stats(pool, "open").InFlight)
	assert.Equal(t, evenkeel.StateEjectedByHand, stats(pool, "open").State)
	assert.NotEqual(t, evenkeel.StateEjectedByHand, stats(pool, "first").State, "it is a new one")
	open.Release()
}

// The function that SetLoad is given is asked once for each member: when SetLoad is
// called, or when the member joins.
func TestSignalIsMadeOncePerMember(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	made := map[string]int{}
	pool.SetLoad(func(b string) func(int) float64 {
		made[b]++
		return func(n int) float64 { return float64(n) }
	})
	assert.Equal(t, map[string]int{"A": 1, "B": 1}, made)
	require.NoError(t, pool.Replace("A", "B", "C"))
	require.NoError(t, pool.SetWeight("C", 2))
	require.NoError(t, pool.Eject("A"))
	require.NoError(t, pool.Restore("A"))
	for range 10 {
		call(t, sqf.New(pool), ok)
	}
	assert.Equal(t, map[string]int{"A": 1, "B": 1, "C": 1}, made)
}

// The weight divides a signal as it does the count, and a broken one is counted.
func TestSignalByWeight(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	require.NoError(t, pool.SetWeight("A", 4))
	pool.SetLoad(each(func(b string, _ int) float64 {
		if b == "A" {
			return 6 // 1.5 by its weight
		}
		return 2
	}))
	for range 20 {
		b, err := sqf.New(pool).Pick()
		require.NoError(t, err)
		assert.Equal(t, "A", b)
	}
	pool.SetLoad(each(func(string, int) float64 { return -1 }))
	before := stats(pool, "A").BadSignals
	_, err := sqf.New(pool).Pick()
	require.NoError(t, err)
	assert.Greater(t, stats(pool, "A").BadSignals, before)
}

// A plain Replace keeps the tier of those who stay, and a negative tier is refused whole.
func TestTierOfAMember(t *testing.T) {
	pool := newPool(t, evenkeel.Config{})
	require.NoError(t, pool.ReplaceMembers(
		evenkeel.Member[string]{Backend: "A", Weight: 1},
		evenkeel.Member[string]{Backend: "B", Weight: 2, Tier: 3}))
	assert.Equal(t, 3, stats(pool, "B").Tier)
	require.NoError(t, pool.Replace("B", "A", "C"))
	assert.Equal(t, 3, stats(pool, "B").Tier)
	assert.InDelta(t, 2, stats(pool, "B").Weight, 0)
	assert.Zero(t, stats(pool, "C").Tier)

	err := pool.ReplaceMembers(evenkeel.Member[string]{Backend: "D", Weight: 1, Tier: -1})
	require.ErrorIs(t, err, evenkeel.ErrBadBackend)
	assert.ErrorContains(t, err, "tier -1 for backend D")
	assert.Equal(t, 3, pool.Len())
}
