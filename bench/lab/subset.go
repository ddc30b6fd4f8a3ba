package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// Subsets, of which nothing was published that could be repeated: clients that each balance
// by two choices over a few of the servers.
const (
	subsetServers = 100
	subsetClients = 90
	subsetRate    = 80
)

var subsetSizes = []int{10, 20}

// subsetRow is one way with one size.
type subsetRow struct {
	subsetWay
	k    int
	runs *runs
}

func planSubset(l *lab) (report, error) {
	var rows []subsetRow
	for _, w := range subsetWays {
		for _, k := range subsetSizes {
			if w.name == "all" {
				k = subsetServers
			}
			rows = append(rows, subsetRow{w, k, l.simulateConfig(sim.Config{
				Servers: subsetServers, Arrivals: sim.Poisson(subsetRate), Work: sim.Exponential{}, Policy: sim.Choices(2), Pool: sim.Plain(),
				Dispatchers: subsetClients, Actions: []sim.Action{{Do: func(pools []*evenkeel.Pool[int]) error {
					for client, pool := range pools {
						if err := pool.ReplaceMembers(w.choose(client, subsetClients, allServers(), k)...); err != nil {
							return err
						}
					}
					return nil
				}}},
				Warmup: 300, Horizon: 1500,
			}, l.seeds)})
			if w.name == "all" {
				break
			}
		}
	}
	return func(ctx context.Context) (*table, error) {
		t := &table{
			title: fmt.Sprintf("%d clients of %d servers, 2 choices, utilization %v, %d seeds", subsetClients, subsetServers, float64(subsetRate)/subsetServers, l.seeds),
			label: "way, servers for each client",
		}
		for _, r := range rows {
			if err := r.runs.wait(ctx); err != nil {
				return nil, err
			}
			s := r.look()
			t.rows = append(t.rows, row{
				label: fmt.Sprintf("%s, %d", r.title, r.k), policy: "p2c", runs: r.runs,
				inputs: []input{{"servers", subsetServers}, {"clients", subsetClients}, {"rate", subsetRate}, {"subset", r.k}},
				measures: []measure{
					shown("mean", r.runs.sample(mean).mean(), 2),
					shown("p99", r.runs.sample(p99).mean(), 1),
					shown("connections", float64(s.connections), 0),
					shown("fewest clients", float64(s.fewest), 0),
					shown("most clients", float64(s.most), 0),
					shown("new when a server leaves", s.byServer, 2),
					shown("when a client joins", s.byClient, 2),
				},
			})
		}
		t.claims = subsetClaims(t)
		t.notes = []string{
			"nothing was published of this; fewest and most are the clients of one server",
			"new are the servers that a client connects to when one of its servers, or any other, leaves, or when one more client joins, in the mean",
		}
		return t, nil
	}, nil
}

// subsetClaims are what the advice of package subset rests on.
func subsetClaims(t *table) []claim {
	value := func(label, measure string) float64 {
		for i := range t.rows {
			if m, ok := t.rows[i].measure(measure); ok && t.rows[i].label == label {
				return m.value
			}
		}
		return math.NaN()
	}
	all := value("all servers, 100", "p99")
	return []claim{
		{"20 servers by id cost at most a tenth in p99 over all 100", value("subset.ByID, 20", "p99") < 1.1*all},
		{"20 servers by number cost nothing in p99", value("subset.ByNumber, 20", "p99") <= all},
		{"by number the most clients of a server are at most 4 more than the fewest",
			value("subset.ByNumber, 20", "most clients")-value("subset.ByNumber, 20", "fewest clients") <= 4},
		{"by id a client connects to k/n new servers when one leaves", math.Abs(value("subset.ByID, 20", "new when a server leaves")-0.2) < 0.01},
	}
}

func allServers() []int {
	list := make([]int, subsetServers)
	for i := range list {
		list[i] = i
	}
	return list
}

// subsetLook is what can be said of a way without requests.
type subsetLook struct {
	connections, fewest, most int
	byServer, byClient        float64 // new connections of a client
}

func (r *subsetRow) look() (s subsetLook) {
	all := allServers()
	counts := make([]int, len(all))
	before := make([][]evenkeel.Member[int], subsetClients)
	for client := range before {
		before[client] = r.choose(client, subsetClients, all, r.k)
		s.connections += len(before[client])
		for _, m := range before[client] {
			counts[m.Backend]++
		}
		more := r.choose(client, subsetClients+1, all, r.k)
		s.byClient += float64(newIn(more, before[client])) / subsetClients
	}
	s.fewest, s.most = math.MaxInt, 0
	for _, n := range counts {
		s.fewest, s.most = min(s.fewest, n), max(s.most, n)
	}
	for gone := range all {
		rest := slices.Concat(all[:gone], all[gone+1:])
		for client := range before {
			after := r.choose(client, subsetClients, rest, r.k)
			s.byServer += float64(newIn(after, before[client])) / subsetClients / subsetServers
		}
	}
	return s
}

// newIn counts the members of list that are not in old.
func newIn(list, old []evenkeel.Member[int]) (n int) {
	for _, m := range list {
		if !slices.ContainsFunc(old, func(o evenkeel.Member[int]) bool { return o.Backend == m.Backend }) {
			n++
		}
	}
	return n
}
