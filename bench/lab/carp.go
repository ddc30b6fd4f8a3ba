package main

import (
	"context"
	"fmt"
	"math"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
	"github.com/evenkeel-go/evenkeel/carp"
)

// Keys and caches, of which nothing was published: servers that each hold some of the keys
// and answer those in a tenth of the time.
const (
	carpServers = 20
	carpKeys    = 20_000
	carpZipf    = 1.1
	carpHit     = 0.1
	carpRate    = 28
	carpWarmup  = 1500
	carpHorizon = 4500
)

var carpCaches = []int{100, 300, 1000, 3000} // keys in each server's

// carpWays are the rows for each size of cache.
var carpWays = []struct {
	name, title string
	policy      sim.Policy
}{
	{"roundrobin", "round robin", sim.RoundRobin},
	{"p2c", "2 choices", sim.Choices(2)},
	{"unbounded", "hashing without a bound", hashing(math.Inf(1))},
	{"carp", "carp, bound 1.25", hashing(0)},
	{"carp2", "carp, bound 2", hashing(2)},
}

func hashing(factor float64) sim.Policy {
	return func(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
		return carp.NewWith(pool, carp.Config{LoadFactor: factor, Seed: seed})
	}
}

func hits(r *sim.Result) float64 { return r.Hits }

func planCarp(l *lab) (report, error) {
	results := make([][]*runs, len(carpCaches))
	for i, cache := range carpCaches {
		for _, w := range carpWays {
			results[i] = append(results[i], l.simulateConfig(sim.Config{
				Servers: carpServers, Arrivals: sim.Poisson(carpRate), Work: sim.Exponential{}, Policy: w.policy, Pool: sim.Plain(),
				Keys:   &sim.Keys{Count: carpKeys, Zipf: carpZipf, Cache: cache, Hit: carpHit},
				Warmup: carpWarmup, Horizon: carpHorizon,
			}, l.seeds))
		}
	}
	return func(ctx context.Context) (*table, error) {
		t := &table{
			title: fmt.Sprintf("%d servers, %d requests a unit of time for %d keys by Zipf's law (s = %v), a hit takes %v of the work, %d seeds",
				carpServers, carpRate, carpKeys, carpZipf, carpHit, l.seeds),
			label: "keys in each cache, policy",
		}
		for i, cache := range carpCaches {
			for k, w := range carpWays {
				r := results[i][k]
				if err := r.wait(ctx); err != nil {
					return nil, err
				}
				fullest := func(r *sim.Result) (most float64) {
					for _, s := range r.Shares {
						most = max(most, s)
					}
					return most * carpServers
				}
				t.rows = append(t.rows, row{
					label: fmt.Sprintf("%d, %s", cache, w.title), policy: w.name, runs: r,
					inputs: []input{{"servers", carpServers}, {"rate", carpRate}, {"keys", carpKeys}, {"zipf", carpZipf}, {"cache", cache}, {"hit", carpHit}},
					measures: []measure{
						shown("hits", r.sample(hits).mean(), 1).asPercent(),
						shown("mean", r.sample(mean).mean(), 2),
						shown("p99", r.sample(p99).mean(), 1),
						shown("fullest server", r.sample(fullest).mean(), 2),
					},
				})
			}
		}
		t.notes = []string{"nothing was published of this; the fullest server is what it was sent, over the mean of all"}
		t.claims = carpClaims(t)
		t.plots = carpFigures(t)
		return t, nil
	}, nil
}

// carpClaims are what the advice of package carp rests on.
func carpClaims(t *table) (list []claim) {
	for i, cache := range carpCaches {
		value := func(policy, measure string) float64 {
			for k, w := range carpWays {
				if w.name == policy {
					m, _ := t.rows[i*len(carpWays)+k].measure(measure)
					return m.value
				}
			}
			return math.NaN()
		}
		list = append(list,
			claim{fmt.Sprintf("carp hits more often than 2 choices with caches of %d", cache), value("carp", "hits") > value("p2c", "hits")},
			claim{fmt.Sprintf("the p99 of carp is below that of 2 choices with caches of %d", cache), value("carp", "p99") < value("p2c", "p99")},
			claim{fmt.Sprintf("the p99 of carp is below that of hashing without a bound with caches of %d", cache), value("carp", "p99") < value("unbounded", "p99")})
	}
	return list
}

// carpFigures draws the hits and the p99 over the size of the caches.
func carpFigures(t *table) []figure {
	var out []figure
	for _, m := range []struct {
		name, y    string
		scale      float64
		logarithms bool
	}{{"hits", "share of the requests that hit, in %", 100, false}, {"p99", "p99 time in system, in mean service times", 1, true}} {
		f := figure{name: "carp-" + m.name, title: "Keys and caches", x: "keys in each server's cache", y: m.y, logX: true, logY: m.logarithms, keyLeft: !m.logarithms}
		for k, w := range carpWays {
			c := curve{name: w.title, policy: w.name, dots: true}
			for i, cache := range carpCaches {
				v, _ := t.rows[i*len(carpWays)+k].measure(m.name)
				c.x, c.y = append(c.x, float64(cache)), append(c.y, v.value*m.scale)
			}
			f.curves = append(f.curves, c)
		}
		out = append(out, f)
	}
	return out
}
