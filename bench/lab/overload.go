package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// Overload, in which nothing was published: what is left of the capacity when
// half as much again comes as the servers can take, and every client gives up
// after 1 s. The backlog is long enough for all who still wait.
const (
	overloadServers  = 10
	overloadRate     = 1.5 * overloadServers      // work is 1
	overloadUnit     = 10 * time.Millisecond      // of real time that 1 stands for
	overloadPatience = float64(time.Second) / 1e7 // 1 s in units
	overloadWarmup   = 5 * overloadPatience
	overloadHorizon  = 20 * overloadPatience
)

func planOverload(l *lab) (report, error) {
	policy, err := policyByName("sqf")
	if err != nil {
		return nil, err
	}
	ways := []struct {
		label string
		set   func(*evenkeel.Config)
		runs  *runs
	}{
		{label: "neither", set: func(*evenkeel.Config) {}},
		{label: "MaxWait 500 ms", set: func(c *evenkeel.Config) { c.MaxWait = 500 * time.Millisecond }},
		{label: "ControlledDelay 50 ms", set: func(c *evenkeel.Config) { c.ControlledDelay.Target = 50 * time.Millisecond }},
	}
	for i := range ways {
		pool := sim.Plain()
		pool.MaxInFlight, pool.Backlog = 1, 10000
		ways[i].set(&pool)
		ways[i].runs = l.simulateConfig(sim.Config{
			Servers: overloadServers, Arrivals: sim.Poisson(overloadRate), Work: sim.Constant(1), Policy: policy,
			Pool: pool, Unit: overloadUnit, Patience: overloadPatience, Warmup: overloadWarmup, Horizon: overloadHorizon,
		}, 3)
	}
	return func(ctx context.Context) (*table, error) {
		t := &table{
			title: "10 servers, 1.5 times their capacity, work 10 ms, clients that give up after 1 s, 3 seeds",
			label: "backlog with",
		}
		f := figure{name: "overload", title: "Overload: answered in time", x: "backlog with", y: "share of the capacity, in %", percent: true}
		var good []float64
		for _, w := range ways {
			if err := w.runs.wait(ctx); err != nil {
				return nil, err
			}
			goodput := w.runs.sample(func(r *sim.Result) float64 {
				return float64(r.Requests) * r.Within(overloadPatience) / (overloadServers * (overloadHorizon - overloadWarmup))
			}).mean()
			good = append(good, goodput)
			shed := w.runs.sample(func(r *sim.Result) float64 { return float64(r.Refused) / float64(r.Requests+r.Refused+r.GaveUp) }).mean()
			gaveUp := w.runs.sample(func(r *sim.Result) float64 { return float64(r.GaveUp) / float64(r.Requests+r.Refused+r.GaveUp) }).mean()
			t.rows = append(t.rows, row{
				label: w.label, policy: "sqf", runs: w.runs,
				inputs: []input{{"servers", overloadServers}, {"rate", overloadRate}, {"work", "constant"}, {"patience", overloadPatience}},
				measures: []measure{
					shown("in time, of the capacity", goodput, 1).asPercent(),
					shown("shed", shed, 1).asPercent(),
					shown("gave up", gaveUp, 1).asPercent(),
				},
			})
			f.bars = append(f.bars, bar{w.label, goodput, math.NaN()})
		}
		for i, w := range ways[1:] {
			t.claims = append(t.claims, claim{fmt.Sprintf("with %s at least 90 %% of the capacity is answered in time", w.label), good[i+1] >= 0.9})
		}
		t.claims = append(t.claims, claim{"with neither less than half of it is", good[0] < 0.5})
		t.notes = []string{"nothing was published of this; a little over 100 % is answered because what waits at the end is served after it"}
		t.plots = []figure{f}
		return t, nil
	}, nil
}
