package sim_test

import (
	"testing"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// BenchmarkRun is the simulator's speed over 100 servers at utilization 0.9: one
// iteration is one request, and one run has 225,000 of them.
func BenchmarkRun(b *testing.B) {
	for _, bm := range []struct {
		name        string
		policy      sim.Policy
		dispatchers int
		signal      sim.Signal
	}{
		{"random", sim.Random, 1, sim.InFlight},
		{"p2c", sim.Choices(2), 1, sim.InFlight},
		{"sqf", sim.SQF, 1, sim.InFlight},
		{"p2c/dispatchers=64", sim.Choices(2), 64, sim.InFlight},
		{"sqf/dispatchers=64", sim.SQF, 64, sim.InFlight},
		{"p2c/board", sim.Choices(2), 1, sim.Board},
		{"sqf/board", sim.SQF, 1, sim.Board},
		{"sqf/work", sim.SQF, 1, sim.WorkLeft},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			cfg := sim.Config{
				Servers: 100, Arrivals: sim.Poisson(90), Work: sim.Exponential{}, Policy: bm.policy, Pool: sim.Plain(),
				Dispatchers: bm.dispatchers, Signal: bm.signal, Requests: int64(b.N), Seed: 1,
			}
			if bm.signal == sim.Board {
				cfg.Refresh = 1
			}
			res, err := sim.Run(b.Context(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrequests/s")
			b.ReportMetric(res.Mean, "mean-time")
		})
	}
}
