package sim_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
)

func base() sim.Config {
	return sim.Config{
		Servers: 20, Arrivals: sim.Poisson(18), Work: sim.Exponential{}, Policy: sim.Choices(2), Pool: sim.Plain(),
		Warmup: 100, Horizon: 1100, Seed: 7,
	}
}

// Everything that goes into a run is used at once here.
func everything() sim.Config {
	c := base()
	c.Speeds = make([]float64, 20)
	c.Failing = make([]float64, 20)
	for i := range c.Speeds {
		c.Speeds[i] = 1
	}
	c.Failing[3] = 0.5
	c.Work, c.RTT, c.Dispatchers, c.Workers = sim.Lognormal(1.2), 0.1, 3, 2
	c.Arrivals = sim.Bursty{Rate: 25, On: 5, Off: 5}
	c.Changes = []sim.Change{{At: 300, Server: 0, Speed: 0.2}, {At: 600, Server: 0, Speed: 1}}
	c.Pool = evenkeel.Config{}
	c.ProbeEvery, c.SampleEvery = 7, 10
	return c
}

func TestRunIsAFunctionOfItsConfig(t *testing.T) {
	backlog := base()
	backlog.Pool = limited(1, 5)
	backlog.Patience = 1.5
	backlog.Dispatchers = 2
	backlog.Servers = 15
	for name, cfg := range map[string]sim.Config{
		"plain": base(), "everything": everything(), "backlog": backlog, "backlog and ejection": backlogAndEjection(),
	} {
		a, err := sim.Run(t.Context(), cfg)
		require.NoError(t, err)
		b, err := sim.Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Equal(t, a, b, name)
		cfg.Seed++
		c, err := sim.Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.NotEqual(t, a.Mean, c.Mean, name)
		assert.Zero(t, a.InFlight, name)
	}
}

// inTurn goes round without help from the core, so that the digits below depend
// on the simulator alone.
type inTurn struct{ n int }

func (p *inTurn) Choose(v evenkeel.View) (int, evenkeel.Load) {
	p.n++
	return p.n % v.Len(), evenkeel.Load{}
}

// The same digits on every machine: these were printed on linux/amd64.
func TestRunIsTheSameOnEveryMachine(t *testing.T) {
	type digits struct {
		Requests  int64
		Mean, P99 float64
	}
	want := map[string]digits{
		"exponential": {26768, 9.486620534148233, 197.656575},
		"lognormal":   {26768, 10.060387942000338, 200.146943},
		"pareto":      {26768, 8.897756386690466, 194.379775},
	}
	for name, work := range map[string]sim.Work{"exponential": sim.Exponential{}, "lognormal": sim.Lognormal(1.2), "pareto": sim.Pareto(2.5)} {
		cfg := everything()
		cfg.Pool = sim.Plain()
		cfg.Work = work
		cfg.Policy = sim.Custom(func() evenkeel.Policy { return &inTurn{} })
		r, err := sim.Run(t.Context(), cfg)
		require.NoError(t, err)
		got := digits{r.Requests, r.Mean, r.P99}
		assert.Equal(t, want[name], got, name)
	}
}

func TestPoliciesFaceTheSameRequests(t *testing.T) {
	cfg := base()
	a := run(t, cfg)
	cfg.Policy = sim.Random
	b := run(t, cfg)
	assert.Equal(t, a.Requests, b.Requests)
	assert.Less(t, a.Mean, b.Mean)
}

func TestMemoryIsFlatInTheNumberOfRequests(t *testing.T) {
	cfg := base()
	cfg.Horizon = 0
	allocs := func(requests int64) float64 {
		cfg.Requests = requests
		return testing.AllocsPerRun(2, func() {
			_, err := sim.Run(t.Context(), cfg)
			require.NoError(t, err)
		})
	}
	assert.InDelta(t, allocs(5_000), allocs(50_000), 100)
}

func TestQuantilesAreExactWithinATenthOfAPercent(t *testing.T) {
	// One at a time on an idle server: the times are the works.
	var at arriving
	var works []float64
	for i := range 10000 {
		at = append(at, float64(i)*1e6)
		works = append(works, math.Pow(10, float64(i)/2000)) // 1 to 100,000
	}
	r := run(t, sim.Config{Servers: 1, Arrivals: at, Work: &list{append([]float64(nil), works...)}, Policy: sim.Random, Horizon: 1e11})
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		assert.InEpsilon(t, works[int(q*10000)-1], r.Quantile(q), 0.002, "%v", q)
	}
}

func TestEjectionAndSlowStartOfTheShippedCode(t *testing.T) {
	cfg := base()
	cfg.Failing = make([]float64, 20)
	cfg.Failing[4] = 1
	cfg.Horizon = 500
	off, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)

	var ejected int
	cfg.Pool = evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		if e.To == evenkeel.StateEjectedByOutcome {
			assert.Equal(t, 4, e.Backend)
			ejected++
		}
	}}
	on, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Positive(t, ejected)
	assert.Less(t, on.Shares[4], off.Shares[4]/5)
	assert.Less(t, on.Failed, off.Failed/5)
}

// backlogAndEjection is a fleet at its limit with a server that fails half of what it
// is sent.
func backlogAndEjection() sim.Config {
	c := base()
	c.Servers, c.Dispatchers, c.Patience = 15, 2, 1.5
	c.Failing = make([]float64, c.Servers)
	c.Failing[4], c.FailWork = 0.5, 0.5
	c.Pool = evenkeel.Config{MaxInFlight: 1, Backlog: 5}
	c.Unit = 10 * time.Millisecond
	return c
}

func TestOutcomesEjectWhileOthersWait(t *testing.T) {
	cfg := backlogAndEjection()
	var wrong []any
	cfg.Pool.OnEvent = func(e evenkeel.Event) {
		if e.To == evenkeel.StateEjectedByOutcome && e.Backend != 4 {
			wrong = append(wrong, e.Backend)
		}
	}
	on, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Empty(t, wrong, "the user's OnEvent still hears of everything")
	assert.Positive(t, on.GaveUp+on.Refused, "requests waited")
	assert.Positive(t, on.Ejections[4])
	assert.Zero(t, on.Ejections[3])
	assert.Zero(t, on.InFlight)

	cfg.Pool.Ejection.Off = true
	off, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.Zero(t, off.Ejections[4])
	assert.Less(t, on.Shares[4], off.Shares[4]/2)
}

func TestUnitScalesThePoolsClock(t *testing.T) {
	var at []time.Duration
	cfg := base()
	cfg.Failing = make([]float64, 20)
	cfg.Failing[4] = 1
	cfg.Unit = time.Minute
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	cfg.Pool = evenkeel.Config{OnEvent: func(e evenkeel.Event) { at = append(at, e.At.Sub(start)) }}
	_, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	require.NotEmpty(t, at)
	assert.Less(t, at[0], 100*time.Minute)
	assert.Greater(t, at[len(at)-1], 900*time.Minute)
}

func TestClosedLoopGoesOnWhenRefused(t *testing.T) {
	cfg := base()
	cfg.Arrivals, cfg.Clients = nil, 30
	cfg.Servers, cfg.Speeds = 2, nil
	cfg.Pool = limited(1, 0)
	cfg.Think = 1
	r := run(t, cfg)
	assert.Positive(t, r.Refused)
	assert.Positive(t, r.Requests)
	cfg.Think = 0
	r = run(t, cfg)
	assert.Positive(t, r.Refused)
	assert.Zero(t, r.InFlight)
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := base()
	cfg.Horizon = 1e15
	cfg.Actions = []sim.Action{{At: 10, Do: func([]*evenkeel.Pool[int]) error { cancel(); return nil }}}
	_, err := sim.Run(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
}

func TestBadConfigIsRefusedAndNamed(t *testing.T) {
	for field, spoil := range map[string]func(*sim.Config){
		"Servers":           func(c *sim.Config) { c.Servers = 0 },
		"Workers":           func(c *sim.Config) { c.Workers = -1 },
		"Speeds":            func(c *sim.Config) { c.Speeds = []float64{1} },
		"server 3":          func(c *sim.Config) { c.Speeds = make([]float64, 20); c.Speeds[3] = math.NaN() },
		"Failing":           func(c *sim.Config) { c.Failing = make([]float64, 20); c.Failing[3] = 1.5 },
		"Weights":           func(c *sim.Config) { c.Weights = make([]float64, 20); c.Weights[0] = -1 },
		"Work":              func(c *sim.Config) { c.Work = nil },
		"a rate of 0":       func(c *sim.Config) { c.Arrivals = sim.Poisson(0) },
		"Arrivals: {":       func(c *sim.Config) { c.Arrivals = sim.Bursty{Rate: 1, On: 1} },
		"amount of work":    func(c *sim.Config) { c.Work = sim.Constant(-1) },
		"a sigma of 6":      func(c *sim.Config) { c.Work = sim.Lognormal(6) },
		"an exponent of 1":  func(c *sim.Config) { c.Work = sim.Pareto(1) },
		"Policy":            func(c *sim.Config) { c.Policy = nil },
		"Arrivals, Clients": func(c *sim.Config) { c.Clients = 3 },
		"Horizon, Requests": func(c *sim.Config) { c.Horizon = 0 },
		"Warmup":            func(c *sim.Config) { c.Warmup = c.Horizon },
		"Horizon":           func(c *sim.Config) { c.Horizon = math.Inf(1) },
		"Signal":            func(c *sim.Config) { c.Signal = 7 },
		"Refresh":           func(c *sim.Config) { c.Signal = sim.Board },
		"Patience":          func(c *sim.Config) { c.Patience = 1 },
		"Changes":           func(c *sim.Config) { c.Changes = []sim.Change{{At: 1, Server: 20}} },
		"Actions":           func(c *sim.Config) { c.Actions = []sim.Action{{At: 1}} },
		"Unit":              func(c *sim.Config) { c.Unit = -1 },
		"RTT":               func(c *sim.Config) { c.RTT = -1 },
	} {
		cfg := base()
		spoil(&cfg)
		_, err := sim.Run(t.Context(), cfg)
		require.ErrorIs(t, err, sim.ErrBadConfig, field)
		require.ErrorContains(t, err, field)
	}
	cfg := base()
	cfg.Pool.Backlog = 3
	_, err := sim.Run(t.Context(), cfg)
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	cfg = base()
	cfg.Policy = sim.Choices(-1)
	_, err = sim.Run(t.Context(), cfg)
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
}

func TestMeasuredAndTrace(t *testing.T) {
	m, err := sim.NewMeasured([]float64{10, 30}, 20)
	require.NoError(t, err)
	assert.Equal(t, 1.0, m.Mean())
	tr, err := sim.NewTrace([]float64{100, 102, 106}, 2)
	require.NoError(t, err)
	assert.Equal(t, 3.0, tr.Length())
	assert.InDelta(t, 2.0/3, tr.Rate(), 1e-12)
	r := run(t, sim.Config{Servers: 1, Arrivals: tr, Work: m, Policy: sim.Random})
	assert.EqualValues(t, 3, r.Requests)

	for _, values := range [][]float64{{}, {0, 0}, {1, -1}, {math.NaN()}, {math.Inf(1)}} {
		_, err := sim.NewMeasured(values, 1)
		assert.Error(t, err, "%v", values)
	}
	_, err = sim.NewMeasured([]float64{1}, 0)
	assert.Error(t, err)
	for _, times := range [][]float64{{}, {1}, {1, 1}, {2, 1}, {1, math.NaN()}} {
		_, err := sim.NewTrace(times, 1)
		assert.Error(t, err, "%v", times)
	}
	_, err = sim.NewTrace([]float64{1, 2}, math.Inf(1))
	assert.Error(t, err)
}

func TestRecordedWorkComesInTheOrderOfTheRequests(t *testing.T) {
	work, err := sim.NewRecorded([]float64{10, 30, 20}, 10)
	require.NoError(t, err)
	assert.Equal(t, 2.0, work.Mean())
	cfg := sim.Config{
		Servers: 1, Arrivals: arriving{1, 11, 21, 31}, Work: work, Policy: sim.Random, ProbeEvery: 1, SampleEvery: 0.5,
	}
	for range 2 { // the runs do not share where they are
		r := run(t, cfg)
		assert.InDelta(t, (1+3+2+1)/4.0, r.Mean, 1e-9)
		assert.EqualValues(t, 1, r.Queues[27][0], "the second takes 3, from 11 on")
		assert.EqualValues(t, 0, r.Queues[47][0], "the third takes 2, from 21 on")
	}
	_, err = sim.NewRecorded([]float64{1, -1}, 1)
	require.ErrorContains(t, err, "duration 2")
}

func ExampleRun() {
	cfg := sim.Config{
		Servers: 100, Arrivals: sim.Poisson(90), Work: sim.Exponential{}, Pool: sim.Plain(),
		Warmup: 200, Horizon: 1200, Seed: 1,
	}
	cfg.Policy = sim.Random
	one, _ := sim.Run(context.Background(), cfg)
	cfg.Policy = sim.Choices(2)
	two, err := sim.Run(context.Background(), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("random %.0f, two choices %.1f times the mean work\n", one.Mean, two.Mean)
	// Output: random 9, two choices 2.6 times the mean work
}
