package main

import (
	"context"
	"fmt"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
	"github.com/evenkeel-go/evenkeel/p2c"
)

func planMistakes(l *lab) (report, error) {
	pub := l.published.Mistakes
	var specs []spec
	for _, p := range pub.Replacement {
		for _, policy := range []string{"p2c", "replacement"} {
			s := spec{policy: policy, servers: p.N, rate: 0.9 * float64(p.N), warmup: p.Horizon / 5, horizon: p.Horizon}
			if p.N == 100 {
				s.probeEvery = 20 // the same runs as in the other tables
			}
			specs = append(specs, s)
		}
	}
	for _, policy := range []string{"sqf", "lowest"} {
		s := usual(policy)
		s.rate, s.probeEvery = pub.Ties.Rho*float64(pub.Ties.N), 0
		specs = append(specs, s)
	}
	leaks := l.planLeak(pub.Leak.Backends, pub.Leak.Requests, pub.Leak.StuckFor)
	return l.simulated(specs, func(t *table, list []planned) {
		t.title, t.label = fmt.Sprintf("three bugs that look harmless, %d seeds", l.seeds), "mistake"
		meanOnly := func(label string, p planned, published float64, publishedRuns int) row {
			m := p.sample(mean)
			return row{label: label, policy: p.policy, inputs: inputsOf(p.spec), runs: p.runs,
				measures: []measure{shown("mean", m.mean(), 2).against(published, m, publishedRuns)}}
		}
		for i, p := range pub.Replacement {
			a := meanOnly(fmt.Sprintf("%d servers, two different", p.N), list[2*i], p.Distinct, 3)
			b := meanOnly(fmt.Sprintf("%d servers, with replacement", p.N), list[2*i+1], p.WithReplacement, 3)
			b.text = fmt.Sprintf("%+.1f%% over two different", (b.measures[0].value/a.measures[0].value-1)*100)
			t.rows = append(t.rows, a, b)
			if p.Distinct < p.WithReplacement {
				t.claims = append(t.claims, claim{fmt.Sprintf("with %d servers drawing with replacement is worse", p.N), a.measures[0].value < b.measures[0].value})
			}
		}
		ties := list[2*len(pub.Replacement):]
		for i, p := range []tiesFigures{pub.Ties.Random, pub.Ties.LowestIndex} {
			r := meanOnly([]string{"ties at random", "ties to the lowest index"}[i], ties[i], p.Mean, 1)
			firstShare := ties[i].sample(share0)
			lastShare := ties[i].sample(func(r *sim.Result) float64 { return r.Shares[len(r.Shares)-1] })
			r.measures = append(r.measures,
				shown("first server", firstShare.mean(), 2).asPercent().against(p.First, firstShare, 1),
				shown("last server", lastShare.mean(), 2).asPercent().against(p.Last, lastShare, 1),
				shown("fullest queue", ties[i].sample(peak).firstMax(1), 0).beside(p.Peak))
			t.rows = append(t.rows, r)
		}
		t.plots = append(t.plots, tiesFigure(ties), replacementFigure(t.rows[:2*len(pub.Replacement)]))
		for i, p := range []leakFigures{pub.Leak.WithRelease, pub.Leak.Without} {
			f := leaks.figures[i]
			t.rows = append(t.rows, row{
				label: []string{"counted down on every path", "a count lost on cancel"}[i], policy: "p2c",
				inputs: []input{{"backends", pub.Leak.Backends}, {"requests", pub.Leak.Requests}, {"stuck_for", pub.Leak.StuckFor}},
				measures: []measure{
					shown("while stuck", f.stuck.mean(), 0).against(p.Stuck, f.stuck, 1),
					shown("after", f.recovered.mean(), 0).against(p.Recovered, f.recovered, 1),
					shown("left in flight", f.left.mean(), 0).against(p.Left, f.left, 1),
				},
			})
		}
		t.claims = append(t.claims, claim{"one lost count keeps a backend out for good", leaks.figures[1].recovered.mean() == 0})
	}, leaks.batch)
}

type leakSamples struct{ stuck, recovered, left sample }

type leaks struct {
	*batch
	figures [2]leakSamples
}

// planLeak sends requests one at a time to a few backends of which the last is
// stuck at first: a request there is cancelled. It does so with leases that are
// ended on every path, and with leases that are not.
func (l *lab) planLeak(backends, requests, stuckFor int) *leaks {
	out := &leaks{}
	for i := range out.figures {
		f := &out.figures[i]
		f.stuck, f.recovered, f.left = make(sample, l.seeds), make(sample, l.seeds), make(sample, l.seeds)
	}
	out.batch = l.submit(2*l.seeds, func(k int) error {
		seed, leaky := k/2, k%2
		all := make([]int, backends)
		for i := range all {
			all[i] = i
		}
		pool, err := evenkeel.NewPool(sim.Plain(), all...)
		if err != nil {
			return err
		}
		lb, err := p2c.NewWith(pool, p2c.Config{Seed: uint64(seed + 1)})
		if err != nil {
			return err
		}
		call := evenkeel.Do[int]
		if leaky == 1 {
			call = doAndForget
		}
		last, f := backends-1, &out.figures[leaky]
		for k := range requests {
			ctx, cancel := context.WithCancel(l.ctx)
			_ = call(ctx, lb, func(ctx context.Context, backend int) error {
				if backend != last {
					return nil
				}
				if k >= stuckFor {
					f.recovered[seed]++
					return nil
				}
				f.stuck[seed]++
				cancel() // the client has waited long enough
				return ctx.Err()
			})
			cancel()
		}
		f.left[seed] = float64(pool.InFlight(last))
		return nil
	})
	return out
}

// doAndForget is evenkeel.Do with the third mistake: a call that is cancelled
// never reaches the line that counts down.
func doAndForget(ctx context.Context, lb evenkeel.Balancer[int], fn func(context.Context, int) error) error {
	lease, err := lb.Lease(ctx)
	if err != nil {
		return err
	}
	if err := fn(ctx, lease.Backend()); err != nil {
		return err
	}
	lease.Done(nil)
	return nil
}

func replacementFigure(rows []row) figure {
	f := figure{name: "mistakes-replacement", title: "What drawing with replacement costs", x: "servers, and how the two are drawn", y: "mean time in system, in mean service times"}
	for i := 0; i < len(rows); i += 2 {
		n := rows[i].inputs[0].value
		a, b := rows[i].measures[0], rows[i+1].measures[0]
		f.bars = append(f.bars, bar{fmt.Sprintf("%v\ndifferent", n), a.value, a.published}, bar{fmt.Sprintf("%v\nreplaced", n), b.value, b.published})
	}
	return f
}

func tiesFigure(ties []planned) figure {
	f := figure{name: "mistakes-ties", title: "Ties to the lowest index: who gets the work", x: "number of the server", y: "share of the requests, in %"}
	for _, p := range ties {
		c := curve{name: titleOf(p.policy), policy: p.policy}
		shares := make([]float64, p.servers)
		for _, r := range p.results {
			for s, v := range r.Shares {
				shares[s] += 100 * v / float64(len(p.results))
			}
		}
		for s, v := range shares {
			c.x, c.y = append(c.x, float64(s)), append(c.y, v)
		}
		f.curves = append(f.curves, c)
	}
	return f
}
