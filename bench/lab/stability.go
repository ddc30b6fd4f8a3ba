package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// choices is the number of servers of n that a policy looks at for a pick: 1 is
// one that does not look.
func choices(policy string, n int) int {
	switch policy {
	case "p2c":
		return min(2, n)
	case "p3c":
		return min(3, n)
	case "sqf":
		return n
	}
	return 1
}

// sameAsSQF reports whether a policy that draws servers draws all of them.
func sameAsSQF(policy string, servers int) bool {
	return policy != "sqf" && servers > 1 && choices(policy, servers) == servers
}

// drowned returns the servers that a policy sends more than they can finish,
// whatever it sees of them: their queues grow as long as the requests come. There
// are none, too, where nothing can be said for certain.
//
// A policy that looks at d of n servers has to take one of k slow ones where all d
// are among them, which is a share of k/n (k-1)/(n-1) ... of the requests.
func drowned(cfg *sim.Config, policy string) []int {
	rate, open := arrivalRate(cfg)
	if !open || cfg.Pool.MaxInFlight > 0 {
		return nil // the number of requests has a bound
	}
	capacities := lastCapacities(cfg)
	if capacities == nil {
		return nil
	}
	d := choices(policy, cfg.Servers)
	shares, even := weightShares(cfg)
	if !even && d > 1 {
		return nil
	}
	var slow []int
	if d == 1 {
		for i, c := range capacities {
			if rate*shares[i] > 0 && atLeast(rate*shares[i], c) {
				slow = append(slow, i)
			}
		}
		return slow
	}
	order := make([]int, cfg.Servers)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(capacities[a], capacities[b]) })
	sum, drown := 0.0, 0
	for k := 1; k <= len(order); k++ {
		sum += capacities[order[k-1]]
		share := 1.0
		for j := range d {
			share *= float64(k-j) / float64(len(order)-j)
		}
		if k >= d && atLeast(rate*share, sum) {
			drown = k
		}
	}
	slow = order[:drown]
	slices.Sort(slow)
	return slow
}

// atLeast is a >= b but for rounding.
func atLeast(a, b float64) bool { return a >= b*(1-1e-12) }

// lastCapacities is how many requests each server can finish in a unit of time
// after the last change, or nil if outcomes can take servers out.
func lastCapacities(cfg *sim.Config) []float64 {
	speeds, failing := slices.Clone(cfg.Speeds), slices.Clone(cfg.Failing)
	changes := slices.Clone(cfg.Changes)
	slices.SortStableFunc(changes, func(a, b sim.Change) int { return cmp.Compare(a.At, b.At) })
	for _, c := range changes {
		speeds[c.Server] = c.Speed
	}
	out := make([]float64, cfg.Servers)
	for i, speed := range speeds {
		work := cfg.Work.Mean()
		if failing != nil && failing[i] > 0 {
			if !cfg.Pool.Ejection.Off {
				return nil
			}
			work *= 1 - failing[i] + failing[i]*cfg.FailWork
		}
		if speed > 0 {
			out[i] = speed * float64(cfg.Workers) / work
		}
	}
	return out
}

// weightShares is the share of the requests each server is sent by a policy that
// does not look, and whether all are the same.
func weightShares(cfg *sim.Config) (shares []float64, even bool) {
	shares = make([]float64, cfg.Servers)
	sum := 0.0
	for i := range shares {
		shares[i] = 1
		if cfg.Weights != nil {
			shares[i] = cfg.Weights[i]
		}
		sum += shares[i]
	}
	even = true
	for i := range shares {
		shares[i] /= sum
		even = even && shares[i] == shares[0]
	}
	return shares, even
}

// shortage returns the servers that outcomes have ejected, if the others cannot do
// what arrives without them: then queues grow while those are out.
func shortage(cfg *sim.Config, all []contender) []int {
	rate, open := arrivalRate(cfg)
	if !open || cfg.Pool.MaxInFlight > 0 || cfg.Pool.Ejection.Off {
		return nil
	}
	rest := *cfg
	rest.Speeds = slices.Clone(cfg.Speeds)
	var out []int
	for i := range cfg.Servers {
		if slices.ContainsFunc(all, func(c contender) bool {
			return slices.ContainsFunc(c.results, func(r *sim.Result) bool { return r.Ejections[i] > 0 })
		}) {
			out = append(out, i)
			rest.Speeds[i] = 0
		}
	}
	if rate < capacity(&rest) {
		return nil
	}
	return out
}

// growth says which queues grow.
func growth(cfg *sim.Config, servers []int) string {
	howLong := "for ever"
	if _, ok := cfg.Arrivals.(*sim.Trace); ok {
		howLong = "as long as requests come"
	}
	of := fmt.Sprintf("(of 0 to %d)", cfg.Servers-1)
	switch n := len(servers); {
	case n == cfg.Servers:
		return "all queues grow " + howLong
	case n == 1:
		return fmt.Sprintf("the queue of server %d %s grows %s", servers[0], of, howLong)
	case n <= 3:
		return fmt.Sprintf("the queues of servers %s %s grow %s", listed("and", servers), of, howLong)
	}
	return fmt.Sprintf("the queues of %d of the %d servers grow %s", len(servers), cfg.Servers, howLong)
}

// listed is a list in words: a, b and c, if that is the word before the last.
func listed[T any](and string, items []T) string {
	text := ""
	for i, item := range items {
		switch {
		case i == 0:
		case i == len(items)-1:
			text += " " + and + " "
		default:
			text += ", "
		}
		text += fmt.Sprint(item)
	}
	return text
}
