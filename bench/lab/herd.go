package main

import (
	"fmt"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// herd is a step that sets the shortest queue beside two choices under one
// condition after the other.
type herd struct {
	name, title, label string
	figure, x, zero    string // title of the figure, what changes along its axis, and what 0 of that is called
	pairs              []herdPair
	random             struct{ Mean, P99 float64 } // published, for reference
	publishedRuns      int
}

// herdPair is one condition.
type herdPair struct {
	label string
	x     float64
	set   func(*spec)
	pair  // as published
}

func (l *lab) planHerd(h herd) (report, error) {
	var specs []spec
	for _, p := range h.pairs {
		for _, policy := range []string{"sqf", "p2c"} {
			s := usual(policy)
			p.set(&s)
			specs = append(specs, s)
		}
	}
	return l.simulated(append(specs, usual("random")), func(t *table, list []planned) {
		t.title, t.label = h.title, h.label
		var x []float64
		for i, p := range h.pairs {
			sqf, p2c := list[2*i], list[2*i+1]
			t.rows = append(t.rows,
				timed(p.label+", shortest queue", sqf.spec, sqf.runs, p.SQFMean, p.SQFP99, h.publishedRuns),
				timed(p.label+", 2 choices", p2c.spec, p2c.runs, p.P2CMean, p.P2CP99, h.publishedRuns))
			x = append(x, p.x)
		}
		random := list[len(list)-1]
		t.rows = append(t.rows, timed("random", random.spec, random.runs, h.random.Mean, h.random.P99, h.publishedRuns))
		t.orders = []string{"mean", "p99"}
		t.plots = herdFigures(h.name, h.figure, h.x, h.zero, t, x)
	})
}

func planStale(l *lab) (report, error) {
	pub := l.published.Stale
	h := herd{
		name: "stale", label: "T, policy", random: pub.Random, publishedRuns: pub.Seeds,
		title:  fmt.Sprintf("%d servers, utilization %v, queue lengths read every T, %d seeds", pub.N, pub.Rho, l.seeds),
		figure: "Load figures that are T old", x: "T, in mean service times", zero: "live",
	}
	for _, p := range pub.Rows {
		pair := herdPair{label: "live", set: func(*spec) {}, pair: p.pair}
		if p.Refresh > 0 {
			pair.label, pair.x = fmt.Sprint(p.Refresh), p.Refresh
			pair.set = func(s *spec) { s.signal, s.refresh = sim.Board, p.Refresh }
		}
		h.pairs = append(h.pairs, pair)
	}
	return l.planHerd(h)
}

func planDispatchers(l *lab) (report, error) {
	pub := l.published.Dispatchers
	h := herd{
		name: "dispatchers", label: "k, policy", random: pub.Random, publishedRuns: pub.Seeds,
		title:  fmt.Sprintf("%d servers, utilization %v, k balancers that each count their own requests, %d seeds", pub.N, pub.Rho, l.seeds),
		figure: "k balancers that cannot see each other", x: "k, number of balancers",
	}
	for _, p := range pub.Rows {
		pair := herdPair{label: fmt.Sprint(p.K), x: float64(p.K), set: func(*spec) {}, pair: p.pair}
		if p.K > 1 { // one is the same run as in the other tables
			pair.set = func(s *spec) { s.dispatchers = p.K }
		}
		h.pairs = append(h.pairs, pair)
	}
	return l.planHerd(h)
}

// herdFigures draws the mean and the p99 of a table of pairs over x, with random
// routing for reference.
func herdFigures(name, title, xLabel, zeroX string, t *table, x []float64) []figure {
	var out []figure
	for _, m := range []string{"mean", "p99"} {
		f := figure{name: name, title: title, x: xLabel, zeroX: zeroX, y: m + " time in system, in mean service times", logX: true, logY: true, keyLeft: true}
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
		f.curves = append(f.curves, curve{
			name: "random", policy: "random", x: []float64{x[0], x[len(x)-1]}, y: []float64{last.value, last.value},
		})
		out = append(out, f)
	}
	return out
}
