package main

import (
	"fmt"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// upperHalf is the share of the requests that the second half of the servers got.
func upperHalf(r *sim.Result) float64 {
	sum := 0.0
	for _, s := range r.Shares[len(r.Shares)/2:] {
		sum += s
	}
	return sum
}

func planSlowness(l *lab) (report, error) {
	var list []limited
	add := func(label string, mean, p99 float64, set func(*spec)) {
		list = append(list, limited{label, set, mean, p99})
	}
	oneOfTen := func(s *spec) { s.servers, s.rate, s.speeds, s.horizon = 10, 7, "0.2,1x9", 10_000 }
	for _, policy := range []string{"sqf", "p2c"} {
		add("one of ten at 0.2, "+titleOf(policy), 0, 0, func(s *spec) { oneOfTen(s); s.policy = policy })
		m, p := 1.38, 6.25
		if policy == "p2c" {
			m, p = 0, 0
		}
		add("one of ten at 0.2, "+titleOf(policy)+", slowness", m, p, func(s *spec) { oneOfTen(s); s.policy, s.slowness = policy, true })
	}
	tenSick := func(s *spec, k int) { s.rate, s.speeds, s.dispatchers = 70, "0.2x10,1x90", k }
	for _, k := range []struct {
		dispatchers         int
		mean, p99           float64
		probedMean, probed9 float64
	}{{16, 1.45, 6.7, 1.3, 5.7}, {64, 2.05, 9, 1.45, 6.3}, {256, 2.9, 13, 1.6, 7.1}} {
		d := k.dispatchers
		add(fmt.Sprintf("ten of 100 at 0.2, %d balancers", d), 0, 0, func(s *spec) { tenSick(s, d) })
		add(fmt.Sprintf("ten of 100 at 0.2, %d balancers, slowness", d), 0, 0, func(s *spec) { tenSick(s, d); s.slowness = true })
		add(fmt.Sprintf("ten of 100 at 0.2, %d balancers, slowness, reports", d), k.mean, k.p99,
			func(s *spec) { tenSick(s, d); s.slowness, s.reporting = true, 1 })
		add(fmt.Sprintf("ten of 100 at 0.2, %d balancers, slowness, reports, 3 probes", d), k.probedMean, k.probed9,
			func(s *spec) { tenSick(s, d); s.slowness, s.reporting, s.probes = true, 1, 3 })
	}
	healthy := []struct {
		label  string
		within float64
		set    func(*spec)
	}{
		{"100 equal servers", 0.02, func(s *spec) {}},
		{"10 equal servers, utilization 0.7", 0.02, func(s *spec) { s.servers, s.rate, s.horizon = 10, 7, 10_000 }},
		{"100 equal servers, 16 balancers", 0.02, func(s *spec) { s.dispatchers = 16 }},
		{"10 equal servers of 8 workers", 0.02, func(s *spec) { s.servers, s.rate, s.workers = 10, 72, 8 }},
		{"100 equal servers, lognormal work", 0.03, func(s *spec) { s.rate, s.work = 80, "lognormal:1.2" }},
	}
	first := len(list)
	for _, h := range healthy {
		add(h.label, 0, 0, h.set)
		add(h.label+", slowness", 0, 0, func(s *spec) { h.set(s); s.slowness = true })
	}
	return l.planLimited("shortest queue unless said otherwise; utilization 0.7 by nominal speed where servers are slow, 0.9 elsewhere", "fleet", usual("sqf"), list,
		func(t *table, done []planned) {
			for i, h := range healthy {
				plain, with := done[first+2*i], done[first+2*i+1]
				t.claims = append(t.claims, claim{
					fmt.Sprintf("%s: slowness changes the mean by at most %v %%", h.label, h.within*100),
					with.sample(mean).mean() <= (1+h.within)*plain.sample(mean).mean(),
				})
			}
		})
}
