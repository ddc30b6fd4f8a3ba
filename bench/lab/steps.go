package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
	"github.com/evenkeel-go/evenkeel/p2c"
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
	name string
	what string
	plan func(l *lab) (report, error)
}

// steps are all experiments but own, in the order in which they run.
var steps = []step{
	{"balls", "a million balls into a million bins", planBalls},
	{"validate", "random routing against the M/M/1 formulas", planValidate},
	{"policies", "five policies on 100 servers", planPolicies},
	{"tails", "the share of servers with at least k requests", planTails},
	{"stale", "load figures that are read every T", planStale},
	{"dispatchers", "many balancers, each counting its own", planDispatchers},
	{"sick", "one server of ten at a fifth of the speed", planSick},
	{"heavy", "work that varies a lot: a count against the work left", planHeavy},
	{"slowbackend", "real goroutines in real time, one backend of eight slow", planSlowBackend},
	{"mistakes", "three bugs that look harmless", planMistakes},
	{"lighty", "two backends of unequal speed, sixteen clients", planLighty},
	{"overload", "half as much again as the servers can take, clients that give up", planOverload},
}

func stepNames() []string {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return append(names, "own")
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

// planned is one row whose runs have been handed in.
type planned struct {
	spec
	*runs
}

// planAll hands in the runs of several specs.
func (l *lab) planAll(specs ...spec) ([]planned, error) {
	var out []planned
	for _, s := range specs {
		r, err := l.simulate(s, l.seeds)
		if err != nil {
			return nil, err
		}
		out = append(out, planned{s, r})
	}
	return out, nil
}

func waitAll(ctx context.Context, list []planned) error {
	for _, p := range list {
		if err := p.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// planBalls throws balls by leasing and never ending the lease: the bins are a
// pool of a million backends.
func planBalls(l *lab) (report, error) {
	pub := l.published.Balls
	choices := []int{1, 2, 3}
	fullest := make([]sample, len(choices))
	empty := make([]sample, len(choices))
	b := l.submit(1, func(int) error {
		bins := make([]int, pub.N)
		for i := range bins {
			bins[i] = i
		}
		pool, err := evenkeel.NewPool(sim.Plain(), bins...)
		if err != nil {
			return err
		}
		leases := make([]evenkeel.Lease[int], pub.N)
		loads := make([]int32, pub.N)
		for k, d := range choices {
			for seed := range pub.Runs {
				lb, err := p2c.NewWith(pool, p2c.Config{D: d, Seed: uint64(seed + 1)})
				if err != nil {
					return err
				}
				if err := throw(l.ctx, lb, leases, loads); err != nil {
					return err
				}
				most, none := int32(0), 0
				for i, n := range loads {
					most = max(most, n)
					if n == 0 {
						none++
					}
					loads[i] = 0
				}
				fullest[k] = append(fullest[k], float64(most))
				empty[k] = append(empty[k], float64(none)/float64(pub.N))
			}
		}
		return nil
	})
	return func(ctx context.Context) (*table, error) {
		if err := b.wait(ctx); err != nil {
			return nil, err
		}
		t := &table{step: "balls", title: fmt.Sprintf("%d balls into as many bins, %d runs each", pub.N, pub.Runs), label: "choices"}
		for k, d := range choices {
			key := fmt.Sprint(d)
			label := key
			if d == 1 {
				label = "1 (random)"
			}
			t.rows = append(t.rows, row{
				label: label, policy: fmt.Sprintf("p2c, D=%d", d), inputs: []input{{"balls", pub.N}, {"choices", d}},
				measures: []measure{
					shown("fullest bin", fullest[k].mean(), 1).against(sample(pub.Fullest[key]).mean(), fullest[k], pub.Runs),
					shown("empty bins", empty[k].mean(), 1).asPercent().against(pub.EmptyShare[key], empty[k], 1),
				},
				text: fmt.Sprintf("fullest in each run %v, published %v", fullest[k], pub.Fullest[key]),
			})
		}
		t.orders = []string{"fullest bin", "empty bins"}
		f := figure{name: "balls", title: "The fullest of a million bins", y: "balls", x: "choices per ball"}
		for i, r := range t.rows {
			m := r.measures[0]
			f.bars = append(f.bars, bar{fmt.Sprint(choices[i]), m.value, m.published})
		}
		t.plots = []figure{f}
		return t, nil
	}, nil
}

// throw leases one backend for each ball and counts where they are, then ends all
// leases.
func throw(ctx context.Context, lb evenkeel.Balancer[int], leases []evenkeel.Lease[int], loads []int32) error {
	thrown := 0
	defer func() {
		for i := range leases[:thrown] {
			leases[i].Release()
		}
	}()
	for i := range leases {
		var err error
		if leases[i], err = lb.Lease(ctx); err != nil {
			return err
		}
		thrown++
		if thrown%(1<<12) == 0 {
			runtime.Gosched() // for the step that runs in real time beside this one
		}
		loads[leases[i].Backend()]++
	}
	return nil
}

// validateSeeds: at utilization 0.9 a queue remembers for hundreds of units, so
// meeting a formula within 2 % takes more runs than the other tables.
const validateSeeds = 3

func planValidate(l *lab) (report, error) {
	pub := l.published.Validate
	var list []planned
	for _, p := range pub.Rows {
		s := spec{policy: "random", servers: pub.N, rate: p.Rho * float64(pub.N), warmup: pub.Warmup, horizon: pub.Horizon}
		r, err := l.simulate(s, validateSeeds*l.seeds)
		if err != nil {
			return nil, err
		}
		list = append(list, planned{s, r})
	}
	return func(ctx context.Context) (*table, error) {
		if err := waitAll(ctx, list); err != nil {
			return nil, err
		}
		t := &table{step: "validate", title: fmt.Sprintf("random routing, %d servers, mean work 1, %d seeds", pub.N, validateSeeds*l.seeds), label: "utilization"}
		for i, p := range pub.Rows {
			r := timed(fmt.Sprint(p.Rho), list[i].spec, list[i].runs, p.Mean, p.P99, pub.Seeds)
			meanFormula, p99Formula := 1/(1-p.Rho), math.Log(100)/(1-p.Rho)
			r.measures = []measure{
				r.measures[0],
				shown("mean by formula", meanFormula, 2).within(p.MeanFormula, 0.02),
				shown("off", r.measures[0].value/meanFormula-1, 2).asPercent(),
				r.measures[1],
				shown("p99 by formula", p99Formula, 1).within(p.P99Formula, 0.02),
				shown("p99 off", r.measures[1].value/p99Formula-1, 2).asPercent(),
			}
			t.rows = append(t.rows, r)
			t.claims = append(t.claims,
				claim{fmt.Sprintf("at utilization %v the mean is within 2 %% of the formula", p.Rho), math.Abs(r.measures[2].value) <= 0.02},
				claim{fmt.Sprintf("at utilization %v the p99 is within 2 %% of the formula", p.Rho), math.Abs(r.measures[5].value) <= 0.02})
		}
		f := figure{name: "validate", title: "Random routing against the M/M/1 formula", x: "time in system", y: "share of requests that take longer", logY: true}
		for i, p := range pub.Rows {
			c := slowerThan("random", list[i].runs, 3)
			c.name = fmt.Sprintf("simulated, utilization %v", p.Rho)
			exact := curve{dashed: true}
			for _, rest := range c.y {
				exact.x, exact.y = append(exact.x, -math.Log(rest)/(1-p.Rho)), append(exact.y, rest)
			}
			if i == 1 {
				exact.name = "formula"
			}
			c.policy = []string{"p2c", "random"}[i%2]
			f.curves = append(f.curves, c, exact)
		}
		t.plots = []figure{f}
		return t, nil
	}, nil
}

// meanField is the mean time in system for very many servers with d choices.
func meanField(d int, rho float64) float64 {
	if d == 1 {
		return 1 / (1 - rho)
	}
	sum := 0.0
	for i := 1; i < 12; i++ {
		sum += math.Pow(rho, (math.Pow(float64(d), float64(i))-float64(d))/float64(d-1))
	}
	return sum
}

// meanFieldTail is the share of servers with at least k requests then.
func meanFieldTail(d int, rho float64, k int) float64 {
	if d == 1 {
		return math.Pow(rho, float64(k))
	}
	return math.Pow(rho, (math.Pow(float64(d), float64(k))-1)/float64(d-1))
}

func planPolicies(l *lab) (report, error) {
	pub := l.published.Policies
	var specs []spec
	for _, p := range pub.Rows {
		specs = append(specs, usual(p.Policy))
	}
	list, err := l.planAll(specs...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*table, error) {
		if err := waitAll(ctx, list); err != nil {
			return nil, err
		}
		t := &table{step: "policies", title: fmt.Sprintf("%d servers, utilization %v, mean work 1, %d seeds", pub.N, pub.Rho, l.seeds), label: "policy"}
		for i, p := range pub.Rows {
			r := list[i]
			row := timed(titleOf(p.Policy), r.spec, r.runs, p.Mean, p.P99, pub.Seeds)
			m := r.sample(mean)
			row.measures = append(row.measures,
				shown("p99.9", r.sample(p999).mean(), 1).beside(p.P999),
				shown("fullest queue", r.sample(peak).firstMax(pub.Seeds), 0).beside(p.Peak))
			row.text = fmt.Sprintf("mean by seed %.2f to %.2f", slices.Min(m), slices.Max(m))
			t.rows = append(t.rows, row)
		}
		limits := "limit of the mean for very many servers:"
		for d := 1; d <= 3; d++ {
			v, published := meanField(d, pub.Rho), pub.MeanField[fmt.Sprint(d)]
			limits += fmt.Sprintf(" d=%d %.3f (published %.3f)", d, v, published)
			t.claims = append(t.claims, claim{fmt.Sprintf("the limit for d=%d is the published one within 2 %%", d), math.Abs(v/published-1) <= 0.02})
		}
		t.notes = append(t.notes, limits)
		f := figure{name: "policies", title: "100 servers, 90 % used: who waits how long", x: "time in system, in mean service times", y: "share of requests that take longer", logY: true}
		for _, r := range list {
			f.curves = append(f.curves, slowerThan(r.policy, r.runs, 4))
		}
		t.plots = []figure{f}
		t.orders = []string{"mean", "p99"}
		return t, nil
	}, nil
}

func planTails(l *lab) (report, error) {
	pub := l.published.Tails
	list, err := l.planAll(usual("random"), usual("p2c"))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*table, error) {
		if err := waitAll(ctx, list); err != nil {
			return nil, err
		}
		t := &table{step: "tails", title: fmt.Sprintf("share of %d servers that hold at least k requests, utilization %v, %d seeds", pub.N, pub.Rho, l.seeds), label: "k"}
		for k := 1; k <= len(pub.Random); k++ {
			tail := func(r *sim.Result) float64 { return r.Tails[k-1] }
			one, two := list[0].sample(tail), list[1].sample(tail)
			formula := func(name string, d int, published float64) measure {
				m := shown(name, meanFieldTail(d, pub.Rho, k), 4).within(published, 0.02)
				m.tolerance += 0.00005 // the rounding of the published digits
				return m
			}
			t.rows = append(t.rows, row{
				label: fmt.Sprint(k), policy: "random, p2c", inputs: append([]input{{"k", k}}, inputsOf(list[1].spec)[:2]...),
				measures: []measure{
					shown("random", one.mean(), 4).against(pub.Random[k-1], one, pub.Seeds),
					formula("rho^k", 1, pub.RandomFormula[k-1]),
					shown("2 choices", two.mean(), 4).against(pub.P2c[k-1], two, pub.Seeds),
					formula("rho^(2^k-1)", 2, pub.P2cFormula[k-1]),
				},
			})
		}
		t.orders = []string{"random", "2 choices"}
		f := figure{name: "tails", title: "Servers that hold at least k requests", x: "k", y: "share of servers", logY: true, keyLeft: true, keyLow: true}
		for i, policy := range []string{"random", "p2c"} {
			c := curve{name: titleOf(policy), policy: policy, dots: true}
			limit := curve{dashed: true}
			if i == 1 {
				limit.name = "limit for very many servers"
			}
			for k := range t.rows {
				if v := t.rows[k].measures[2*i].value; v > 1e-5 {
					c.x, c.y = append(c.x, float64(k+1)), append(c.y, v)
				}
				if v := t.rows[k].measures[2*i+1].value; v > 1e-5 {
					limit.x, limit.y = append(limit.x, float64(k+1)), append(limit.y, v)
				}
			}
			f.curves = append(f.curves, c, limit)
		}
		t.plots = []figure{f}
		return t, nil
	}, nil
}
