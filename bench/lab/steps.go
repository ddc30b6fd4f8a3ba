package main

import (
	"context"
	"fmt"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// lab is what the steps work with.
type lab struct {
	*engine
	published *publishedFigures
	scale     float64 // of real time in the steps that run in it
}

// report waits for a step's runs and makes its table.
type report func(ctx context.Context) (*table, error)

// step is one experiment. plan hands in its runs and returns what makes the table
// of them, so that all steps can be planned before the first is reported.
type step struct {
	name    string
	heading string // on the page
	shows   string // one sentence: what the step shows
	plan    func(l *lab) (report, error)
}

// steps are all experiments but own, in the order in which they run.
var steps = []step{
	{"balls", "A million balls into a million bins",
		"A second random choice halves the fullest bin; a third takes one more ball off it.", planBalls},
	{"validate", "The simulator against the formulas",
		"Random routing makes every server an M/M/1 queue, and the simulator meets the exact formulas for it.", planValidate},
	{"policies", "Five policies on a hundred servers",
		"Random routing keeps requests waiting longest, then round robin; the more servers a policy looks at, the less they wait.", planPolicies},
	{"tails", "How many servers have a long queue",
		"With two choices the share of servers with k requests falls far faster in k than at random.", planTails},
	{"stale", "Load figures that are old",
		"The shortest queue is best while its figures are fresh; when they are old, all requests follow the same ones, and two choices lose far less.", planStale},
	{"dispatchers", "Many balancers that cannot see each other",
		"The more balancers share the servers, the less each one's own counts say, and the longer requests take.", planDispatchers},
	{"sick", "One server of ten at a fifth of its speed",
		"Policies that do not look drown the slow server; those that count what is in flight send it little.", planSick},
	{"reports", "Servers that report what they hold",
		"With each answer the server says how many requests it holds: many balancers then act nearly as one, with the shortest queue; two choices gain little.", planReports},
	{"slowness", "Loads that know who is slow",
		"Latencies, or the servers' own word, tell the slow servers from the others: the shortest queue then reaches what known speeds allow, and costs healthy fleets nothing.", planSlowness},
	{"heavy", "Work that varies a lot",
		"Knowing the work that each server has left helps two choices; the shortest queue by count is nearly as good without.", planHeavy},
	{"slowbackend", "One slow backend, in real time",
		"The shipped balancers with goroutines and real clocks: two choices keep the requests away from the slow backend.", planSlowBackend},
	{"mistakes", "Three bugs that look harmless",
		"What it costs to draw the same server twice, to break ties by index, and to lose a count.", planMistakes},
	{"lighty", "Two unequal backends behind a proxy",
		"Round robin goes at the pace of the slower backend; the shortest queue uses both in full.", planLighty},
	{"overload", "Half as much again as the servers can do",
		"First come, first served answers nobody in time; a limit on the wait keeps the servers useful.", planOverload},
	{"carp", "Keys, and servers that hold some of them",
		"Hashing sends each key where it is held; without a bound the most wanted keys drown their server, with one they spill.", planCarp},
	{"subset", "Clients that know some of the servers",
		"A fifth of the connections costs no time where each client counts its own requests only: the fewer servers it knows, the more its counts say.", planSubset},
}

func stepNames() []string {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return append(names, "own")
}

// start hands in the step's runs.
func (st *step) start(l *lab) (report, error) {
	r, err := st.plan(l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st.name, err)
	}
	return func(ctx context.Context) (*table, error) {
		t, err := r(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.name, err)
		}
		t.step, t.heading, t.shows = st.name, st.heading, st.shows
		return t, nil
	}, nil
}

// simulated is the frame of the steps whose rows are runs of the simulator: it hands
// in the runs of all specs, and lets fill make the table when they, and more, are done.
func (l *lab) simulated(specs []spec, fill func(t *table, list []planned), more ...*batch) (report, error) {
	var list []planned
	for _, s := range specs {
		r, err := l.simulate(s, max(s.times, 1)*l.seeds)
		if err != nil {
			return nil, err
		}
		list, more = append(list, planned{s, r}), append(more, r.batch)
	}
	return func(ctx context.Context) (*table, error) {
		for _, b := range more {
			if err := b.wait(ctx); err != nil {
				return nil, err
			}
		}
		t := &table{label: "policy"}
		fill(t, list)
		return t, nil
	}, nil
}

// planned is one row whose runs have been handed in.
type planned struct {
	spec
	*runs
}

// usual is the simulation that most tables share: 100 servers at utilization 0.9.
func usual(policy string) spec {
	return spec{policy: policy, servers: 100, rate: 90, warmup: 500, horizon: 2500, probeEvery: 20}
}

// inputsOf lists what made a row.
func inputsOf(s spec) []input {
	in := []input{{"servers", s.servers}, {"rate", s.rate}}
	if s.work != "" {
		in = append(in, input{"work", s.work})
	}
	if s.speeds != "" {
		in = append(in, input{"speeds", s.speeds})
	}
	if s.dispatchers > 1 {
		in = append(in, input{"dispatchers", s.dispatchers})
	}
	if s.workers > 1 {
		in = append(in, input{"workers", s.workers})
	}
	if s.reporting > 0 {
		in = append(in, input{"reporting", s.reporting})
	}
	if s.probes > 0 {
		in = append(in, input{"probes", s.probes})
	}
	if s.slowness {
		in = append(in, input{"slowness", "on"})
	}
	if s.rtt > 0 {
		in = append(in, input{"rtt", s.rtt})
	}
	switch s.signal {
	case sim.Board:
		in = append(in, input{"signal", "board"}, input{"refresh", s.refresh})
	case sim.WorkLeft:
		in = append(in, input{"signal", "work left"})
	}
	return append(in, input{"warmup", s.warmup}, input{"horizon", s.horizon})
}

// timed is a row of the usual kind: mean and p99 beside the published ones.
func timed(label string, s spec, r *runs, publishedMean, publishedP99 float64, publishedRuns int) row {
	m, p := r.sample(mean), r.sample(p99)
	return row{
		label: label, policy: s.policy, inputs: inputsOf(s), runs: r,
		measures: []measure{
			shown("mean", m.mean(), 2).against(publishedMean, m, publishedRuns),
			shown("p99", p.mean(), 1).against(publishedP99, p, publishedRuns),
		},
	}
}
