package sim_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// average is the results of several seeds, averaged.
type average struct {
	mean, p99 float64
	tails     [sim.TailDepth]float64
}

func averageOf(t *testing.T, cfg sim.Config, seeds int) average {
	t.Helper()
	seeds = max(seeds/haste, 1)
	results := make([]*sim.Result, seeds)
	var wg sync.WaitGroup
	for i := range seeds {
		cfg := cfg
		cfg.Seed = uint64(i + 1)
		wg.Go(func() { results[i], _ = sim.Run(t.Context(), cfg) })
	}
	wg.Wait()
	var a average
	for _, r := range results {
		require.NotNil(t, r)
		a.mean += r.Mean / float64(seeds)
		a.p99 += r.P99 / float64(seeds)
		for k := range r.Tails {
			a.tails[k] += r.Tails[k] / float64(seeds)
		}
	}
	return a
}

// Random routing makes every server an M/M/1 queue: the time in it is exponential
// with mean 1/(1-rho).
func TestRandomRoutingIsMM1(t *testing.T) {
	for _, rho := range []float64{0.3, 0.5, 0.7} {
		a := averageOf(t, sim.Config{
			Servers: 50, Arrivals: sim.Poisson(50 * rho), Work: sim.Exponential{}, Policy: sim.Random, Pool: sim.Plain(),
			Warmup: 500, Horizon: 4500, Seed: 1, ProbeEvery: 20,
		}, 4)
		assert.InEpsilon(t, 1/(1-rho), a.mean, 0.02*slack, "mean at %v", rho)
		assert.InEpsilon(t, math.Log(100)/(1-rho), a.p99, 0.03*slack, "p99 at %v", rho)
		for k := 1; k <= 3; k++ {
			assert.InEpsilon(t, math.Pow(rho, float64(k)), a.tails[k-1], 0.02*slack, "share with %d or more at %v", k, rho)
		}
	}
}

// One server with c workers is the M/M/c queue: Erlang's C formula.
func TestOneServerWithWorkersIsMMc(t *testing.T) {
	for _, c := range []int{2, 10} {
		const rho = 0.8
		offered := rho * float64(c)
		term, sum := 1.0, 1.0
		for k := 1; k < c; k++ {
			term *= offered / float64(k)
			sum += term
		}
		last := term * offered / float64(c) / (1 - rho)
		waits := last / (sum + last)
		want := 1 + waits/(float64(c)*(1-rho))

		a := averageOf(t, sim.Config{
			Servers: 1, Workers: c, Arrivals: sim.Poisson(offered), Work: sim.Exponential{}, Policy: sim.SQF, Pool: sim.Plain(),
			Warmup: 500, Horizon: 500 + 200000/offered,
		}, 4)
		assert.InEpsilon(t, want, a.mean, 0.02*slack, "%d workers", c)
	}
}

// The Pollaczek-Khinchine formula: the mean wait depends on the work by its
// second moment.
func TestWorkHasTheRightSecondMoment(t *testing.T) {
	const rho = 0.5
	for name, c := range map[string]struct {
		work sim.Work
		cv2  float64 // variance of the work over its squared mean
	}{
		"constant":    {sim.Constant(1), 0},
		"exponential": {sim.Exponential{}, 1},
		"lognormal":   {sim.Lognormal(0.8), math.Exp(0.64) - 1},
		"pareto":      {sim.Pareto(5), 1 / (5.0 * 3)},
	} {
		want := 1 + rho*(1+c.cv2)/2/(1-rho)
		a := averageOf(t, sim.Config{
			Servers: 50, Arrivals: sim.Poisson(50 * rho), Work: c.work, Policy: sim.Random, Pool: sim.Plain(), Warmup: 200, Horizon: 4200,
		}, 4)
		assert.InEpsilon(t, want, a.mean, 0.02*slack, name)
	}
}

// Mitzenmacher's limit for very many servers, which a thousand come close to: the
// share with k requests or more is rho^((d^k-1)/(d-1)).
func TestChoicesReachTheMeanFieldLimit(t *testing.T) {
	const rho = 0.9
	for _, d := range []int{2, 3} {
		a := averageOf(t, sim.Config{
			Servers: 1000, Arrivals: sim.Poisson(1000 * rho), Work: sim.Exponential{}, Policy: sim.Choices(d), Pool: sim.Plain(),
			Warmup: 60, Horizon: 160, ProbeEvery: 500,
		}, 4)
		mean := 0.0
		for i := 1; i < 12; i++ {
			mean += math.Pow(rho, (math.Pow(float64(d), float64(i))-float64(d))/float64(d-1))
		}
		assert.InEpsilon(t, mean, a.mean, 0.01*slack, "mean, %d choices", d)
		for k := 1; k <= 3; k++ {
			tail := math.Pow(rho, (math.Pow(float64(d), float64(k))-1)/float64(d-1))
			assert.InEpsilon(t, tail, a.tails[k-1], 0.02*slack, "share with %d or more, %d choices", k, d)
		}
	}
}

// Little's law holds for whatever is simulated: here requests in flight, with a
// network between.
func TestLittlesLawWithNetworkDelay(t *testing.T) {
	cfg := sim.Config{
		Servers: 20, Arrivals: sim.Poisson(14), Work: sim.Exponential{}, Policy: sim.Choices(2), Pool: sim.Plain(),
		RTT: 0.5, Dispatchers: 3, Warmup: 100, Horizon: 4100, SampleEvery: 0.5, Seed: 3,
	}
	r, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	atServers, n := 0.0, 0
	for i, q := range r.Queues {
		if float64(i)*cfg.SampleEvery <= cfg.Warmup {
			continue
		}
		n++
		for _, jobs := range q {
			atServers += float64(jobs)
		}
	}
	assert.InEpsilon(t, 14*(r.Mean-cfg.RTT), atServers/float64(n), 0.01)
	assert.Zero(t, r.InFlight)
}
