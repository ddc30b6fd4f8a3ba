package main

import (
	"context"
	"fmt"
	"math"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

func planSick(l *lab) (report, error) {
	pub := l.published.Sick
	sick := spec{
		servers: pub.N, rate: pub.Rho * float64(pub.N), speeds: "0.2,1x9", warmup: pub.Warmup, horizon: pub.Horizon, sampleEvery: 10,
	}
	var specs []spec
	for _, p := range pub.Rows {
		s := sick
		s.policy = p.Policy
		specs = append(specs, s)
	}
	healthy := sick
	healthy.policy, healthy.speeds, healthy.sampleEvery = "p2c", "", 0
	return l.simulated(append(specs, healthy), func(t *table, list []planned) {
		t.title = fmt.Sprintf("%d servers, utilization %v by nominal speed, server 0 at speed 0.2, %d seeds", pub.N, pub.Rho, l.seeds)
		for i, p := range pub.Rows {
			r := list[i]
			row := timed(titleOf(p.Policy), r.spec, r.runs, p.Mean, p.P99, pub.Seeds)
			share := r.sample(share0)
			row.measures = append(row.measures,
				shown("fullest queue", r.sample(peak).firstMax(pub.Seeds), 0).beside(p.Peak),
				shown("sent to the sick", share.mean(), 1).asPercent().against(p.Share, share, pub.Seeds))
			t.rows = append(t.rows, row)
		}
		last := list[len(list)-1]
		row := timed("2 choices, none sick", last.spec, last.runs, pub.HealthyP2c.Mean, pub.HealthyP2c.P99, pub.Seeds)
		t.rows = append(t.rows, row)
		t.orders = []string{"mean", "p99"}
		t.plots = sickFigures(list[:len(pub.Rows)])
	})
}

func planHeavy(l *lab) (report, error) {
	pub := l.published.Heavy
	var specs []spec
	for _, p := range pub.Rows {
		s := usual(p.Policy)
		s.rate, s.work, s.probeEvery = pub.Rho*float64(pub.N), "lognormal:1.2", 0
		if p.Metric == "work" {
			s.signal = sim.WorkLeft
		}
		specs = append(specs, s)
	}
	return l.simulated(specs, func(t *table, list []planned) {
		t.title = fmt.Sprintf("%d servers, utilization %v, lognormal work (sigma 1.2, mean 1), %d seeds", pub.N, pub.Rho, l.seeds)
		for i, p := range pub.Rows {
			label := titleOf(p.Policy)
			switch {
			case p.Metric == "work":
				label += ", work left"
			case p.Policy != "random":
				label += ", count"
			}
			t.rows = append(t.rows, timed(label, list[i].spec, list[i].runs, p.Mean, p.P99, pub.Seeds))
		}
		t.orders = []string{"mean", "p99"}
		f := figure{name: "heavy", title: "Lognormal work: a count against the work left", x: "time in system, in mean service times", y: "share of requests that take longer", logY: true}
		for i, p := range pub.Rows {
			c := slowerThan(p.Policy, list[i].runs, 4)
			c.name = t.rows[i].label
			if p.Metric == "work" {
				c.policy += ", work left"
			}
			f.curves = append(f.curves, c)
		}
		t.plots = []figure{f}
	})
}

// planLighty is the proxy's benchmark: two backends that reach so many requests a
// second alone, and clients that send their next request when they have the
// answer. A unit of time is a second. The document's proxy was busy itself, so
// its totals stay below what the two backends could do; here the proxy costs
// nothing.
func planLighty(l *lab) (report, error) {
	pub := l.published.Lighty
	slow, fast := pub.AloneRPS["22"], pub.AloneRPS["25"]
	all := make([]*runs, len(pub.Rows))
	for i, p := range pub.Rows {
		policy, err := policyByName(p.Policy)
		if err != nil {
			return nil, err
		}
		all[i] = l.simulateConfig(sim.Config{
			Servers: 2, Speeds: []float64{slow, fast}, Clients: pub.Clients, Requests: int64(pub.Requests),
			Work: sim.Constant(1), Policy: policy, Pool: sim.Plain(),
		}, 3)
	}
	return func(ctx context.Context) (*table, error) {
		t := &table{
			title: fmt.Sprintf("backends of %.0f and %.0f requests a second, %d clients, %d requests", slow, fast, pub.Clients, pub.Requests),
			label: "policy",
		}
		var rps, share []float64
		for i, p := range pub.Rows {
			if err := all[i].wait(ctx); err != nil {
				return nil, err
			}
			rps = append(rps, all[i].sample(func(r *sim.Result) float64 { return r.Throughput }).mean())
			share = append(share, all[i].sample(share0).mean())
			m := shown("to the slow one", share[i], 1).asPercent()
			m.published, m.tolerance, m.rule = p.Requests22/(p.Requests22+p.Requests25), 0.02, "2 points"
			t.rows = append(t.rows, row{
				label: titleOf(p.Policy), policy: p.Policy, runs: all[i],
				inputs:   []input{{"clients", pub.Clients}, {"requests", pub.Requests}, {"speeds", fmt.Sprintf("%v,%v", slow, fast)}},
				measures: []measure{shown("requests/s", rps[i], 0).beside(p.RPS), shown("of both together", rps[i]/(slow+fast), 1).asPercent(), m},
			})
		}
		t.claims = []claim{
			{"shortest queue reaches at least 95 % of what the two backends reach alone", rps[1] >= 0.95*(slow+fast)},
			{"round robin reaches no more than twice the slower backend", rps[0] <= 2*slow*1.01},
			{"round robin's total against shortest queue's is the published ratio within 15 %",
				math.Abs(rps[0]/rps[1]/(pub.Rows[0].RPS/pub.Rows[1].RPS)-1) <= 0.15},
		}
		t.notes = []string{"the document's proxy was short of processor time, which costs it both totals; there is no such limit here"}
		t.orders = []string{"requests/s"}
		f := figure{name: "lighty", title: "Two unequal backends, 16 clients", x: "policy", y: "requests a second"}
		for _, r := range t.rows {
			f.bars = append(f.bars, bar{r.label, r.measures[0].value, r.measures[0].published})
		}
		t.plots = []figure{f}
		return t, nil
	}, nil
}

// sickFigures draws the queue of the sick server over time under each policy, and
// those of all servers under two choices.
func sickFigures(list []planned) []figure {
	sick := figure{name: "sick", title: "The queue of a server at a fifth of its speed", x: "time, in mean service times", y: "requests at the server (0, then logarithmic)", zeroLogY: true, keyLeft: true}
	all := figure{
		name: "sick-all", title: "All ten queues under 2 choices", x: "time, in mean service times", y: "requests at a server", yMin: 0, yMax: 12,
	}
	for _, p := range list {
		queues := p.results[0].Queues
		c := curve{name: titleOf(p.policy), policy: p.policy}
		for i, q := range queues {
			c.x, c.y = append(c.x, float64(i)*p.sampleEvery), append(c.y, float64(q[0]))
		}
		sick.curves = append(sick.curves, c)
		if p.policy != "p2c" {
			continue
		}
		for s := p.servers - 1; s >= 0; s-- {
			c := curve{thin: true}
			switch s {
			case 0:
				c = curve{name: "the sick one", policy: "random"}
			case 1:
				c.name = "the others"
			}
			for i, q := range queues {
				if at := float64(i) * p.sampleEvery; at <= 1000 {
					c.x, c.y = append(c.x, at), append(c.y, float64(q[s]))
				}
			}
			all.curves = append(all.curves, c)
		}
	}
	return []figure{sick, all}
}
