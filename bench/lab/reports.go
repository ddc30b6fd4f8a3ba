package main

import (
	"fmt"
)

// limited is a row that must stay below limits.
type limited struct {
	label     string
	set       func(*spec)
	mean, p99 float64 // 0: none
}

// planLimited makes a step of rows with limits. more adds claims that compare rows.
func (l *lab) planLimited(title, label string, base spec, list []limited, more func(t *table, list []planned)) (report, error) {
	var specs []spec
	for _, row := range list {
		s := base
		row.set(&s)
		specs = append(specs, s)
	}
	return l.simulated(specs, func(t *table, done []planned) {
		t.title, t.label = fmt.Sprintf("%s, %d seeds", title, l.seeds), label
		for i, row := range list {
			r := done[i]
			r.spec.noteLimits(t, row, r.runs)
		}
		if more != nil {
			more(t, done)
		}
	})
}

// noteLimits adds the row of these runs, and the claim that it stays below its limits.
func (s spec) noteLimits(t *table, of limited, r *runs) {
	m, p := shown("mean", r.sample(mean).mean(), 2), shown("p99", r.sample(p99).mean(), 1)
	t.rows = append(t.rows, row{label: of.label, policy: s.policy, inputs: inputsOf(s), runs: r, measures: []measure{m, p}})
	if of.mean > 0 {
		t.claims = append(t.claims, claim{
			fmt.Sprintf("%s: the mean is at most %v and the p99 at most %v", of.label, of.mean, of.p99),
			m.value <= of.mean && p.value <= of.p99,
		})
	}
}

func planReports(l *lab) (report, error) {
	var list []limited
	add := func(label string, mean, p99 float64, set func(*spec)) {
		list = append(list, limited{label, set, mean, p99})
	}
	limits := map[int][2]float64{8: {1.6, 6.5}, 64: {2.5, 9.6}, 256: {4, 14.5}}
	for _, k := range []int{1, 8, 64, 256, 1000} {
		add(fmt.Sprintf("%d, shortest queue", k), 0, 0, func(s *spec) { s.dispatchers = k })
		add(fmt.Sprintf("%d, shortest queue, reports", k), limits[k][0], limits[k][1], func(s *spec) { s.dispatchers, s.reporting = k, 1 })
		add(fmt.Sprintf("%d, 2 choices, reports", k), 0, 0, func(s *spec) { s.policy, s.dispatchers, s.reporting = "p2c", k, 1 })
	}
	const few = 64
	add("64, half of them report", 0, 0, func(s *spec) { s.dispatchers, s.reporting = few, 0.5 })
	for _, k := range []int{few, 256, 1000} {
		add(fmt.Sprintf("%d, reports, 3 probes a request", k), 2.1, 8, func(s *spec) { s.dispatchers, s.reporting, s.probes = k, 1, 3 })
	}
	for _, rtt := range []float64{0.1, 0.5, 2} {
		add(fmt.Sprintf("64, reports, network delay %v", rtt), 0, 0, func(s *spec) { s.dispatchers, s.reporting, s.rtt = few, 1, rtt })
	}
	base := usual("sqf")
	return l.planLimited("100 servers, utilization 0.9, k balancers, servers that report with each answer", "k, policy", base, list,
		func(t *table, done []planned) {
			half := 0.0
			for i, r := range t.rows {
				if r.label == "64, half of them report" {
					half = done[i].sample(upperHalf).mean()
				}
			}
			t.notes = append(t.notes, fmt.Sprintf("where half of the servers report, they get %.1f%% of the requests", half*100))
			t.claims = append(t.claims, claim{"where half of the servers report, they get 45 to 55 % of the requests", half > 0.45 && half < 0.55})
		})
}
