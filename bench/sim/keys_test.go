package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

func keyed(k Keys) Config {
	return Config{
		Servers: 4, Arrivals: Poisson(2), Work: Constant(1), Policy: Random, Pool: Plain(),
		Keys: &k, Warmup: 100, Horizon: 20_000, Seed: 1,
	}
}

// One server with room for one of two keys, asked for alike, holds the key of every second
// request: that of the one before.
func TestHitsOfACacheOfOne(t *testing.T) {
	cfg := keyed(Keys{Count: 2, Cache: 1, Hit: 0.5})
	cfg.Servers, cfg.Arrivals = 1, Poisson(0.5)
	r, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	assert.InDelta(t, 0.5, r.Hits, 0.02)
}

// A hit takes its share of the work, and a server without a cache has none.
func TestHitsTakeLessWork(t *testing.T) {
	for _, cache := range []int{0, 1} {
		cfg := keyed(Keys{Count: 1, Cache: cache, Hit: 0.25})
		cfg.Servers, cfg.Arrivals = 1, Poisson(0.01)
		r, err := Run(context.Background(), cfg)
		require.NoError(t, err)
		assert.Equal(t, float64(cache), r.Hits)
		assert.InDelta(t, []float64{1, 0.25}[cache], r.P50, 1e-3)
	}
}

// Keys follow Zipf's law: with exponent 1 the second is asked for half as often as the
// first.
func TestKeysFollowZipf(t *testing.T) {
	k := &Keys{Count: 1000, Zipf: 1}
	s, err := newKeyspace(k, 1, NewStream(1, streamKeys))
	require.NoError(t, err)
	counts := make([]float64, k.Count)
	for range 1_000_000 {
		counts[s.draw()]++
	}
	for i := range 10 {
		assert.InEpsilon(t, counts[0]/float64(i+1), counts[i], 0.03, i)
	}
}

// The leases have the keys: by carp every key is on one server, and each of them misses once.
func TestLeasesHaveTheKeys(t *testing.T) {
	cfg := keyed(Keys{Count: 100, Cache: 100, Hit: 1})
	cfg.Warmup = 0
	cfg.Policy = func(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
		return evenkeel.NewSeededDispatcher(pool, carp.Policy{LoadFactor: 1e9}, seed), nil
	}
	r, err := Run(context.Background(), cfg)
	require.NoError(t, err)
	assert.InDelta(t, 100, (1-r.Hits)*float64(r.Requests), 0.1)
	cfg.Policy = Random
	r, err = Run(context.Background(), cfg)
	require.NoError(t, err)
	assert.InDelta(t, 400, (1-r.Hits)*float64(r.Requests), 0.1)
}

func TestBadKeysAreRefused(t *testing.T) {
	for field, k := range map[string]Keys{
		"Keys.Count": {}, "Keys.Zipf": {Count: 1, Zipf: -1}, "Keys.Cache": {Count: 1, Cache: -1}, "Keys.Hit": {Count: 1, Hit: 2},
	} {
		_, err := Run(context.Background(), keyed(k))
		require.ErrorIs(t, err, ErrBadConfig)
		assert.ErrorContains(t, err, field)
	}
}
