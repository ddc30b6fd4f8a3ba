package evenkeel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// F185: two primaries and a reserve. When the primaries die the reserve takes over, and
// when they are back the calls return step by step.
func TestF185Reserve(t *testing.T) {
	for name := range allPolicies(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1})
			require.NoError(t, pool.ReplaceMembers(
				evenkeel.Member[string]{Backend: "A", Weight: 1},
				evenkeel.Member[string]{Backend: "B", Weight: 1},
				evenkeel.Member[string]{Backend: "R", Weight: 1, Tier: 1}))
			lb := allPolicies(t, pool, 3)[name]
			dead := map[string]bool{}
			serve := func(b string, _ time.Duration) (time.Duration, error) {
				if dead[b] {
					return time.Millisecond, errBroken
				}
				return 10 * time.Millisecond, nil
			}
			calls, _ := closedLoop(t, c, lb, 8, 10*time.Second, serve)
			assert.Zero(t, calls["R"], "the reserve stands by")

			dead["A"], dead["B"] = true, true
			calls, failed := closedLoop(t, c, lb, 8, 20*time.Second, serve)
			assert.Less(t, sum(failed), 60, "those that find out")
			assert.Greater(t, calls["R"], sum(calls)/2)

			dead["A"] = false
			closedLoop(t, c, lb, 8, 90*time.Second, serve)
			calls, _ = closedLoop(t, c, lb, 8, 5*time.Second, serve)
			assert.InDelta(t, 0.7, float64(calls["A"])/float64(sum(calls)), 0.1, "half of the tier carries 1.4 times its share")

			dead["B"] = false
			closedLoop(t, c, lb, 8, 90*time.Second, serve)
			calls, _ = closedLoop(t, c, lb, 8, 5*time.Second, serve)
			assert.Zero(t, calls["R"])
		})
	}
}

// A reserve that fails too helps nobody: the primaries are used again.
func TestAllTiersFail(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1})
	require.NoError(t, pool.ReplaceMembers(
		evenkeel.Member[string]{Backend: "A", Weight: 1},
		evenkeel.Member[string]{Backend: "B", Weight: 1},
		evenkeel.Member[string]{Backend: "R", Weight: 1, Tier: 1}))
	lb := comparing(t, pool, 3)["p2c"]
	broken := true
	serve := func(string, time.Duration) (time.Duration, error) {
		if broken {
			return time.Millisecond, errBroken
		}
		return 10 * time.Millisecond, nil
	}
	closedLoop(t, c, lb, 8, time.Minute, serve)
	broken = false
	closedLoop(t, c, lb, 8, 5*time.Second, serve)
	calls, _ := closedLoop(t, c, lb, 8, 5*time.Second, serve)
	assert.Greater(t, calls["A"]+calls["B"], 9*sum(calls)/10)
}

// A tier must not be negative, and a plain Replace keeps tiers.
func TestTierIsKept(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	err := pool.ReplaceMembers(evenkeel.Member[string]{Backend: "A", Weight: 1, Tier: -1})
	require.ErrorIs(t, err, evenkeel.ErrBadBackend)
	assert.ErrorContains(t, err, "tier -1 for backend A")
	require.NoError(t, pool.ReplaceMembers(evenkeel.Member[string]{Backend: "A", Weight: 1}, evenkeel.Member[string]{Backend: "B", Weight: 1, Tier: 2}))
	require.NoError(t, pool.Replace("B", "A", "C"))
	assert.Equal(t, 2, stats(pool, "B").Tier)
	assert.Zero(t, stats(pool, "C").Tier)
}

// A call that finds no place, or only backends that it must avoid, goes to the next tier,
// also while the first one is well.
func TestFullTiersAndRetriesCrossTiers(t *testing.T) {
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1})
	require.NoError(t, pool.ReplaceMembers(
		evenkeel.Member[string]{Backend: "A", Weight: 1},
		evenkeel.Member[string]{Backend: "R", Weight: 1, Tier: 1}))
	for name, lb := range allPolicies(t, pool, 3) {
		lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
		require.NoError(t, err, name)
		assert.Equal(t, "R", lease.Backend(), name)
		lease.Release()
		first, err := lb.Lease(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, "A", first.Backend(), name)
		second, err := lb.Lease(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, "R", second.Backend(), name)
		_, err = lb.Lease(t.Context())
		require.ErrorIs(t, err, evenkeel.ErrOverloaded, name)
		first.Release()
		second.Release()
	}
}
