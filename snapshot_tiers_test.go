package evenkeel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// tiered makes a pool of the tiers' members.
func tiered(t *testing.T, cfg evenkeel.Config, tiers ...[]string) *evenkeel.Pool[string] {
	t.Helper()
	pool := newPool(t, cfg)
	var list []evenkeel.Member[string]
	for tier, backends := range tiers {
		for _, b := range backends {
			list = append(list, evenkeel.Member[string]{Backend: b, Weight: 1, Tier: tier})
		}
	}
	require.NoError(t, pool.ReplaceMembers(list...))
	return pool
}

// sharesOf are the parts of many picks that went to each tier.
func sharesOf(t *testing.T, pool *evenkeel.Pool[string]) map[int]float64 {
	t.Helper()
	tiers := map[string]int{}
	for b, s := range pool.All() {
		tiers[b] = s.Tier
	}
	const n = 20_000
	shares := map[int]float64{}
	lb := must(random.NewWith(pool, random.Config{Seed: 7}))
	for range n {
		b, err := lb.Pick()
		require.NoError(t, err)
		shares[tiers[b]] += 1.0 / n
	}
	return shares
}

// The lowest tier takes 1.4 times the share of its weight that is in rotation, up to all
// calls; the next ones take what is left, and all share the calls where they cannot carry
// them together.
func TestTiersShareTheCalls(t *testing.T) {
	for _, c := range []struct {
		out  []string
		want map[int]float64
	}{
		{nil, map[int]float64{0: 1}},
		{[]string{"A"}, map[int]float64{0: 1}},
		{[]string{"A", "B"}, map[int]float64{0: 0.7, 1: 0.3}},
		{[]string{"A", "B", "C"}, map[int]float64{0: 0.35, 1: 0.65}},
		{[]string{"A", "B", "C", "D"}, map[int]float64{1: 1}},
		{[]string{"A", "B", "C", "E", "F", "G"}, map[int]float64{0: 0.35, 1: 0.35, 2: 0.3}},
		{[]string{"A", "B", "C", "E", "F", "G", "I"}, map[int]float64{0: 0.5, 1: 0.5}},
		{[]string{"A", "B", "C", "D", "E", "F", "G"}, map[int]float64{1: 0.35, 2: 0.65}},
	} {
		pool := tiered(t, evenkeel.Config{}, []string{"A", "B", "C", "D"}, []string{"E", "F", "G", "H"}, []string{"I"})
		for _, b := range c.out {
			require.NoError(t, pool.Eject(b))
		}
		assert.InDeltaMapValues(t, c.want, sharesOf(t, pool), 0.02, "without %v", c.out)
	}
}

// Health checks are believed while one tier is well off.
func TestPanicIsOfAllTiers(t *testing.T) {
	pool := tiered(t, evenkeel.Config{}, []string{"A", "B"}, []string{"C", "D"})
	require.NoError(t, pool.SetHealth("A", errBroken))
	require.NoError(t, pool.SetHealth("B", errBroken))
	assert.False(t, pool.Stats().Panic)
	assert.Equal(t, map[int]bool{1: true}, in(sharesOf(t, pool)))
	require.NoError(t, pool.SetHealth("C", errBroken))
	assert.False(t, pool.Stats().Panic, "half of the second tier are well")
	require.NoError(t, pool.SetHealth("D", errBroken))
	assert.True(t, pool.Stats().Panic)
	assert.True(t, in(sharesOf(t, pool))[0])
}

func in(shares map[int]float64) map[int]bool {
	tiers := map[int]bool{}
	for tier := range shares {
		tiers[tier] = true
	}
	return tiers
}

// Outcomes may take a whole tier out while another can carry its calls, and never the
// last backend of all.
func TestOutcomesTakeAWholeTier(t *testing.T) {
	pool := tiered(t, evenkeel.Config{}, []string{"A", "B"}, []string{"C"})
	fail := func(n int, others ...string) {
		for range n {
			lease, err := sqf.New(pool).LeaseFor(t.Context(), avoiding(others...))
			require.NoError(t, err)
			lease.Done(errBroken)
		}
	}
	fail(5, "B", "C")
	fail(5, "A", "C")
	assert.Equal(t, 2, ejected(pool))
	fail(20, "A", "B")
	assert.Equal(t, evenkeel.StateActive, stats(pool, "C").State)
}

// Calls that find no place in the lowest tier, or have tried all of it, go to the next
// one in use.
func TestFullTierAndTriedTier(t *testing.T) {
	pool := tiered(t, evenkeel.Config{MaxInFlight: 1}, []string{"A", "B"}, []string{"C"})
	require.NoError(t, pool.Eject("B")) // the second tier gets 3 of 10 calls
	lb := must(random.NewWith(pool, random.Config{Seed: 1}))
	for range 50 {
		first, err := lb.Lease(t.Context())
		require.NoError(t, err)
		second, err := lb.Lease(t.Context())
		require.NoError(t, err)
		assert.ElementsMatch(t, []string{"A", "C"}, []string{first.Backend(), second.Backend()})
		first.Release()
		second.Release()
		for _, tried := range []string{"A", "C"} {
			other, err := lb.LeaseFor(t.Context(), avoiding(tried))
			require.NoError(t, err)
			assert.NotEqual(t, tried, other.Backend())
			other.Release()
		}
	}
}
