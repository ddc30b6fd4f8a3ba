package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// table is what own prints.
func (o *fleet) table(cfg *sim.Config, v *verdict, seeds int) *table {
	t := &table{
		step: "own", heading: "Your fleet", title: o.describe(cfg, seeds), label: "policy",
		shows: "Each policy before the servers that the flags describe, best first: how long requests take, and how many are not answered well.",
	}
	ejected := 0.0
	for i, c := range v.ranked {
		r := row{label: c.name, policy: c.name, inputs: o.inputs(cfg), runs: c.runs, text: v.remark(cfg, i), measures: []measure{
			shown("mean", c.sample(mean).mean(), 3), shown("±", c.sample(mean).interval(0.95), 3),
			shown("p50", c.sample(p50).mean(), 3),
			shown("p99", c.sample(p99).mean(), 2), shown("± ", c.sample(p99).interval(0.95), 2),
			shown("p99.9", c.sample(p999).mean(), 2),
			shown("fullest queue", c.sample(peak).firstMax(seeds), 0),
		}}
		if v.anyLost {
			r.measures = append(r.measures, shown("not answered", c.lost, 2).asPercent())
		}
		if o.ejection {
			n := c.sample(ejections).mean()
			ejected += n
			r.measures = append(r.measures, shown("ejections", n, 1))
		}
		t.rows = append(t.rows, r)
	}
	if len(v.ranked) > 1 {
		t.notes = append(t.notes, v.order(o.by))
	}
	if o.ejection && ejected == 0 {
		t.notes = append(t.notes, fmt.Sprintf("nothing was ejected: no server failed often enough within the window of 10 s, which is %s units of time (-tick)",
			significant(10e9/float64(cfg.Unit))))
	}
	for _, name := range shippedPolicies() {
		tried := o.policies == "all" || slices.ContainsFunc(v.ranked, func(c contender) bool { return c.name == name })
		if tried && sameAsSQF(name, o.servers) {
			t.notes = append(t.notes, fmt.Sprintf("with %d servers %s looks at all of them: it is sqf", o.servers, name))
		}
	}
	t.notes = append(t.notes, v.advice(cfg))
	unit := "in mean service times"
	if o.trace != "" {
		unit = "in ms"
	}
	f := figure{name: "own", title: "Your fleet: who waits how long", x: "time in system, " + unit, y: "share of requests that take longer", logY: true}
	for _, c := range v.ranked {
		f.curves = append(f.curves, slowerThan(c.name, c.runs, 4))
	}
	t.plots = []figure{f}
	return t
}

// order says what the order of the rows is.
func (v *verdict) order(by string) string {
	text := fmt.Sprintf("rows are in the order of their %s; differences are to the best, over the same requests; intervals hold together with 95 %% confidence", v.measure())
	if v.anyLost {
		text += fmt.Sprintf("; weighed %s: doubled for each per cent of the requests that is not answered well", by)
	}
	if v.stable > 0 && v.stable < len(v.ranked) {
		text += "; policies under which a queue grows come last"
	}
	return text
}

// ejections is the number of ejections in a run.
func ejections(r *sim.Result) float64 {
	sum := 0
	for _, n := range r.Ejections {
		sum += n
	}
	return float64(sum)
}

// describe is the title of the table: everything that is not as it is without flags.
func (o *fleet) describe(cfg *sim.Config, seeds int) string {
	parts := []string{o.describeServers()}
	add := func(when bool, format string, args ...any) {
		if when {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	rate, open := arrivalRate(cfg)
	if open {
		text := fmt.Sprintf("utilization %.3g", rate/capacity(cfg))
		switch cfg.Arrivals.(type) {
		case sim.Bursty:
			text += " in bursts"
		case *sim.Trace:
			text += " by " + o.trace + strings.TrimPrefix(o.arrivals, "poisson")
		}
		add(true, "%s", text)
	} else {
		text := fmt.Sprintf("%d clients", o.clients)
		if o.think > 0 {
			text += fmt.Sprintf(" that take %g before the next request", o.think)
		}
		add(true, "%s", text)
	}
	if o.trace != "" {
		add(true, "mean work %s ms, times in ms", significant(cfg.Work.Mean()))
	} else {
		add(true, "work %s", o.work)
	}
	add(o.dispatchers > 1, "%d dispatchers", o.dispatchers)
	add(o.view != "own", "view %s", o.view)
	add(o.rtt > 0, "rtt %g", o.rtt)
	add(o.weights != "", "weights %s", o.weights)
	add(o.changes != "", "changes %s", o.changes)
	add(o.failing != "", "failing %s after %g of the work", o.failing, o.failWork)
	switch {
	case o.slowStart:
		add(true, "ejection and slow start (a unit of time is %v)", cfg.Unit)
	case o.ejection:
		add(true, "ejection (a unit of time is %v)", cfg.Unit)
	}
	add(o.limit > 0, "limit %d", o.limit)
	add(o.backlog > 0, "backlog %d", o.backlog)
	add(o.patience > 0, "patience %g", o.patience)
	add(true, "%d seeds", seeds)
	return strings.Join(parts, ", ")
}

func (o *fleet) describeServers() string {
	text := fmt.Sprintf("%d servers", o.servers)
	if o.speeds != "1" {
		text += " of speed " + o.speeds
	}
	if o.concurrency > 1 {
		text += fmt.Sprintf(" that do %d requests at once", o.concurrency)
	}
	return text
}

func (o *fleet) inputs(cfg *sim.Config) []input {
	in := []input{
		{"servers", o.servers}, {"speeds", o.speeds}, {"concurrency", o.concurrency},
		{"dispatchers", o.dispatchers}, {"view", o.view}, {"rtt", o.rtt}, {"horizon", cfg.Horizon}, {"warmup", cfg.Warmup},
	}
	if o.trace != "" {
		in = append(in, input{"trace", o.trace})
	} else {
		in = append(in, input{"work", o.work}, input{"arrivals", o.arrivals})
	}
	if rate, open := arrivalRate(cfg); open {
		in = append(in, input{"rate", rate})
	} else {
		in = append(in, input{"clients", o.clients}, input{"think", o.think})
	}
	for _, s := range []struct {
		name, text string
	}{{"weights", o.weights}, {"changes", o.changes}, {"failing", o.failing}} {
		if s.text != "" {
			in = append(in, input{s.name, s.text})
		}
	}
	if o.failing != "" {
		in = append(in, input{"failwork", o.failWork})
	}
	if o.limit > 0 {
		in = append(in, input{"limit", o.limit}, input{"backlog", o.backlog}, input{"patience", o.patience})
	}
	if o.ejection {
		in = append(in, input{"ejection", true}, input{"slowstart", o.slowStart}, input{"unit", cfg.Unit.String()})
	}
	return in
}
