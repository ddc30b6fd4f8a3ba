package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// validateSeeds: at utilization 0.9 a queue remembers for hundreds of units, so
// meeting a formula within 2 % takes more runs than the other tables.
const validateSeeds = 3

func planValidate(l *lab) (report, error) {
	pub := l.published.Validate
	var specs []spec
	for _, p := range pub.Rows {
		specs = append(specs, spec{
			policy: "random", servers: pub.N, rate: p.Rho * float64(pub.N), warmup: pub.Warmup, horizon: pub.Horizon, times: validateSeeds,
		})
	}
	return l.simulated(specs, func(t *table, list []planned) {
		t.title, t.label = fmt.Sprintf("random routing, %d servers, mean work 1, %d seeds", pub.N, validateSeeds*l.seeds), "utilization"
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
		f := figure{name: "validate", title: "Random routing against the M/M/1 formula", x: "time in system, in mean service times", y: "share of requests that take longer", logY: true}
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
	})
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
	return l.simulated(specs, func(t *table, list []planned) {
		t.title = fmt.Sprintf("%d servers, utilization %v, mean work 1, %d seeds", pub.N, pub.Rho, l.seeds)
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
	})
}

func planTails(l *lab) (report, error) {
	pub := l.published.Tails
	return l.simulated([]spec{usual("random"), usual("p2c")}, func(t *table, list []planned) {
		t.title, t.label = fmt.Sprintf("share of %d servers that hold at least k requests, utilization %v, %d seeds", pub.N, pub.Rho, l.seeds), "k"
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
		f := figure{name: "tails", title: "Servers that hold at least k requests", x: "k, requests at a server", y: "share of servers", logY: true, keyLeft: true, keyLow: true}
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
	})
}

// slowerThan is the curve of the share of requests that take longer than a time,
// down to one in ten to the power of depth.
func slowerThan(policy string, r *runs, depth float64) curve {
	c := curve{name: titleOf(policy), policy: policy}
	for e := 0.0; e <= depth+0.05; e += 0.1 {
		rest := math.Pow(10, -e)
		sum := 0.0
		for _, res := range r.results {
			sum += res.Quantile(1 - rest)
		}
		c.x = append(c.x, sum/float64(len(r.results)))
		c.y = append(c.y, rest)
	}
	return c
}
