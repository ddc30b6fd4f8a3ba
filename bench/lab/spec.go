package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// spec is a simulation as the steps and the flags of own write it down: plain
// values, so that two rows that need the same runs can be seen to.
type spec struct {
	policy      string
	servers     int
	rate        float64 // arrivals a unit of time
	work        string
	speeds      string
	signal      sim.Signal
	refresh     float64
	dispatchers int
	warmup      float64
	horizon     float64
	probeEvery  int
	sampleEvery float64
	reporting   float64
	probes      float64
	slowness    bool
	rtt         float64
	workers     int
	times       int // as many runs as usual; 0: 1
}

// policies are the shipped ones, in the order of the tables, and the lab's wrong
// ones.
var policies = []struct {
	name   string
	title  string
	policy sim.Policy
	wrong  bool
}{
	{"random", "random", sim.Random, false},
	{"roundrobin", "round robin", sim.RoundRobin, false},
	{"p2c", "2 choices", sim.Choices(2), false},
	{"p3c", "3 choices", sim.Choices(3), false},
	{"sqf", "shortest queue", sim.SQF, false},
	{"replacement", "2 choices with replacement", sim.Custom(withReplacement), true},
	{"lowest", "shortest queue, ties to the lowest index", sim.Custom(lowestIndex), true},
}

func policyByName(name string) (sim.Policy, error) {
	for _, p := range policies {
		if p.name == name {
			return p.policy, nil
		}
	}
	return nil, fmt.Errorf("%q is no policy; there are %s", name, strings.Join(shippedPolicies(), ", "))
}

func shippedPolicies() []string {
	var names []string
	for _, p := range policies {
		if !p.wrong {
			names = append(names, p.name)
		}
	}
	return names
}

func titleOf(policy string) string {
	for _, p := range policies {
		if p.name == policy {
			return p.title
		}
	}
	return policy
}

func (s spec) config() (sim.Config, error) {
	policy, err := policyByName(s.policy)
	if err != nil {
		return sim.Config{}, err
	}
	work, err := parseWork(s.work)
	if err != nil {
		return sim.Config{}, err
	}
	var speeds []float64
	if s.speeds != "" {
		if speeds, err = parseList(s.speeds, s.servers); err != nil {
			return sim.Config{}, err
		}
	}
	pool := sim.Plain()
	if s.slowness {
		pool = sim.Adaptive()
	}
	return sim.Config{
		Servers: s.servers, Speeds: speeds, Workers: s.workers, Arrivals: sim.Poisson(s.rate), Work: work, Policy: policy, Pool: pool,
		Reporting: s.reporting, Probes: s.probes, RTT: s.rtt,
		Dispatchers: s.dispatchers, Signal: s.signal, Refresh: s.refresh, Warmup: s.warmup, Horizon: s.horizon,
		ProbeEvery: s.probeEvery, SampleEvery: s.sampleEvery,
	}, nil
}

// parseWork reads a distribution of work: exponential, constant, lognormal:SIGMA
// or pareto:ALPHA.
func parseWork(text string) (sim.Work, error) {
	name, arg, has := strings.Cut(text, ":")
	number := func(what string, low, high float64) (float64, error) {
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(v > low && v <= high) {
			return 0, fmt.Errorf("%q needs a %s above %v and at most %v, as in %s:1.5", text, what, low, high, name)
		}
		return v, nil
	}
	switch {
	case (text == "" || name == "exponential") && !has:
		return sim.Exponential{}, nil
	case name == "constant" && !has:
		return sim.Constant(1), nil
	case name == "lognormal":
		v, err := number("sigma", 0, 5)
		return sim.Lognormal(v), err
	case name == "pareto":
		v, err := number("alpha", 1, 100)
		return sim.Pareto(v), err
	}
	return nil, fmt.Errorf("%q is no distribution of work: exponential, constant, lognormal:SIGMA, pareto:ALPHA or file:NAME", text)
}

// parseList reads one number for each of n servers: 1x28,0.5,0.2 is 28 ones, a
// half and a fifth. A single number stands for all.
func parseList(text string, n int) ([]float64, error) {
	var list []float64
	items := strings.Split(text, ",")
	for _, item := range items {
		value, times, many := strings.Cut(strings.TrimSpace(item), "x")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%q is not a number of 0 or more", item)
		}
		k := 1
		if many {
			if k, err = strconv.Atoi(times); err != nil || k < 1 || k > 1e6 {
				return nil, fmt.Errorf("%q does not end in a number of servers, as 1x28 does", item)
			}
		} else if len(items) == 1 {
			k = n
		}
		for range k {
			list = append(list, v)
		}
	}
	if len(list) != n {
		return nil, fmt.Errorf("it lists %d servers, but there are %d", len(list), n)
	}
	return list, nil
}

// The lab's wrong policies, for the step mistakes.

// duplicates draws twice without looking whether it is the same backend.
type duplicates struct{}

func withReplacement() evenkeel.Policy { return duplicates{} }

func (duplicates) Choose(v evenkeel.View) (int, evenkeel.Load) {
	i, j := v.Draw(), v.Draw()
	a, b := v.Load(i), v.Load(j)
	if b.Less(a) {
		return j, b
	}
	return i, a
}

// first takes the first of the least loaded.
type first struct{}

func lowestIndex() evenkeel.Policy { return first{} }

func (first) Choose(v evenkeel.View) (int, evenkeel.Load) {
	at, best := 0, v.Load(0)
	for i := 1; i < v.Len(); i++ {
		if l := v.Load(i); l.Less(best) {
			at, best = i, l
		}
	}
	return at, best
}
