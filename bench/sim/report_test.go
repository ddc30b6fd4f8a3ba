package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// many is a fleet with many balancers that cannot see each other.
func many(servers, dispatchers int) Config {
	return Config{
		Servers: servers, Dispatchers: dispatchers, Arrivals: Rate(0.9, servers, Exponential{}), Work: Exponential{},
		Policy: SQF, Pool: Adaptive(), Warmup: 200, Horizon: 1000,
	}
}

func mustRun(t *testing.T, cfg Config) *Result {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	require.NoError(t, err)
	require.Zero(t, r.InFlight)
	return r
}

func TestReportsMakeManyActAsOne(t *testing.T) {
	cfg := many(20, 16)
	alone := mustRun(t, cfg)
	cfg.Reporting = 1
	reported := mustRun(t, cfg)
	cfg.Probes = 3
	probed := mustRun(t, cfg)
	assert.Less(t, reported.Mean, 0.7*alone.Mean)
	assert.Less(t, probed.Mean, 0.9*reported.Mean)
}

func TestReportsOfHalfFloodAndStarveNobody(t *testing.T) {
	cfg := many(20, 16)
	cfg.Reporting = 0.5
	r := mustRun(t, cfg)
	reporting := 0.0
	for _, share := range r.Shares[10:] {
		reporting += share
	}
	assert.InDelta(t, 0.5, reporting, 0.05)
}

// A server that lies hurts nobody but itself: the others go on as without it, and by
// saying that it is idle it draws no more than its capacity allows.
func TestLiars(t *testing.T) {
	for _, lie := range []float64{0, -1, 1e9, math.NaN(), math.Inf(1)} {
		cfg := many(20, 16)
		cfg.Arrivals, cfg.Reporting, cfg.Lying = Rate(0.6, 20, Exponential{}), 1, func() float64 { return lie }
		r := mustRun(t, cfg)
		assert.Less(t, r.Shares[0], 0.1, "says %v", lie)
		assert.Less(t, r.Mean, 2.5, "says %v", lie)
	}
}

// A server that turns slow loses its share soon, and has it back after it has healed.
func TestSpeedsThatChange(t *testing.T) {
	const slow = 3
	share := func(reporting, from, until float64) float64 {
		cfg := many(10, 1)
		cfg.Arrivals, cfg.Reporting = Rate(0.7, 10, Exponential{}), reporting
		cfg.Changes = []Change{{At: 500, Server: slow, Speed: 0.2}, {At: 1500, Server: slow, Speed: 1}}
		cfg.Warmup, cfg.Horizon = from, until
		sum := 0.0
		for seed := range uint64(8) {
			cfg.Seed = seed + 1
			sum += mustRun(t, cfg).Shares[slow] / 8
		}
		return sum
	}
	// With reports it takes the server's own average longer to forget.
	for reporting, healed := range map[float64]float64{0: 0.07, 1: 0.045} {
		assert.InDelta(t, 0.1, share(reporting, 300, 500), 0.02, "before, reporting %v", reporting)
		assert.Less(t, share(reporting, 520, 600), 0.05, "20 service times after it has turned slow, reporting %v", reporting)
		assert.Greater(t, share(reporting, 1700, 1900), healed, "200 after it has healed, reporting %v", reporting)
	}
}

func TestBadReporting(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"Reporting": func(c *Config) { c.Reporting = 1.1 },
		"Probes":    func(c *Config) { c.Probes = 1 },
	} {
		cfg := many(3, 1)
		change(&cfg)
		_, err := Run(t.Context(), cfg)
		require.ErrorIs(t, err, ErrBadConfig)
		assert.ErrorContains(t, err, field)
	}
}
