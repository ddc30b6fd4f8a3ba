package main

import (
	"context"
	"fmt"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

func planStale(l *lab) (report, error) {
	pub := l.published.Stale
	var specs []spec
	for _, p := range pub.Rows {
		for _, policy := range []string{"sqf", "p2c"} {
			s := usual(policy)
			if p.Refresh > 0 {
				s.signal, s.refresh = sim.Board, p.Refresh
			}
			specs = append(specs, s)
		}
	}
	specs = append(specs, usual("random"))
	list, err := l.planAll(specs...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*table, error) {
		if err := waitAll(ctx, list); err != nil {
			return nil, err
		}
		t := &table{step: "stale", title: fmt.Sprintf("%d servers, utilization %v, queue lengths read every T, %d seeds", pub.N, pub.Rho, l.seeds), label: "T, policy"}
		for i, p := range pub.Rows {
			age := "live"
			if p.Refresh > 0 {
				age = fmt.Sprint(p.Refresh)
			}
			t.rows = append(t.rows, pairOfRows(age, list[2*i:], p.pair, pub.Seeds)...)
		}
		t.rows = append(t.rows, timed("random", usual("random"), list[len(list)-1].runs, pub.Random.Mean, pub.Random.P99, pub.Seeds))
		t.orders = []string{"mean", "p99"}
		var ages []float64
		for _, p := range pub.Rows {
			ages = append(ages, p.Refresh)
		}
		t.plots = herdFigures("stale", "Load figures that are T old", "T, in mean service times", t, ages)
		return t, nil
	}, nil
}

// pairOfRows is shortest queue and two choices under one condition.
func pairOfRows(label string, list []planned, p pair, publishedRuns int) []row {
	return []row{
		timed(label+", shortest queue", list[0].spec, list[0].runs, p.SQFMean, p.SQFP99, publishedRuns),
		timed(label+", 2 choices", list[1].spec, list[1].runs, p.P2CMean, p.P2CP99, publishedRuns),
	}
}

func planDispatchers(l *lab) (report, error) {
	pub := l.published.Dispatchers
	var specs []spec
	for _, p := range pub.Rows {
		for _, policy := range []string{"sqf", "p2c"} {
			s := usual(policy)
			if p.K > 1 {
				s.dispatchers = p.K
			}
			specs = append(specs, s)
		}
	}
	specs = append(specs, usual("random"))
	list, err := l.planAll(specs...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*table, error) {
		if err := waitAll(ctx, list); err != nil {
			return nil, err
		}
		t := &table{step: "dispatchers", title: fmt.Sprintf("%d servers, utilization %v, k balancers that each count their own requests, %d seeds", pub.N, pub.Rho, l.seeds), label: "k, policy"}
		for i, p := range pub.Rows {
			t.rows = append(t.rows, pairOfRows(fmt.Sprint(p.K), list[2*i:], p.pair, pub.Seeds)...)
		}
		t.rows = append(t.rows, timed("random", usual("random"), list[len(list)-1].runs, pub.Random.Mean, pub.Random.P99, pub.Seeds))
		t.orders = []string{"mean", "p99"}
		var ks []float64
		for _, p := range pub.Rows {
			ks = append(ks, float64(p.K))
		}
		t.plots = herdFigures("dispatchers", "k balancers that cannot see each other", "k", t, ks)
		return t, nil
	}, nil
}

// herdFigures draws the mean and the p99 of a table of pairs over x, with random
// routing for reference.
func herdFigures(name, title, xLabel string, t *table, x []float64) []figure {
	var out []figure
	for _, m := range []string{"mean", "p99"} {
		f := figure{name: name, title: title, x: xLabel, y: m + " time in system", logX: true, logY: true, keyLeft: true}
		if m != "mean" {
			f.name += "-" + m
		}
		for i, policy := range []string{"sqf", "p2c"} {
			c := curve{name: titleOf(policy), policy: policy, dots: true}
			for k := range x {
				v, _ := t.rows[2*k+i].measure(m)
				c.x, c.y = append(c.x, x[k]), append(c.y, v.value)
			}
			f.curves = append(f.curves, c)
		}
		last, _ := t.rows[len(t.rows)-1].measure(m)
		least := x[0]
		if least == 0 {
			least = x[1]
		}
		f.curves = append(f.curves, curve{
			name: "random", policy: "random", x: []float64{least, x[len(x)-1]}, y: []float64{last.value, last.value},
		})
		out = append(out, f)
	}
	return out
}
