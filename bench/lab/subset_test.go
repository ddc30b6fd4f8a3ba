package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// The ways that others published are what they are said to be: each round of deterministic
// subsetting shares the servers out, and the arcs of an aperture give each server the same
// weight.
func TestSubsetWaysOfOthers(t *testing.T) {
	servers := allServers()
	seen := map[int]int{}
	for client := 20; client < 30; client++ {
		for _, m := range deterministic(client, 30, servers, 10) {
			seen[m.Backend]++
		}
	}
	require.Len(t, seen, subsetServers)
	for s, n := range seen {
		assert.Equal(t, 1, n, s)
	}
	assert.NotEqual(t, deterministic(0, 30, servers, 10), deterministic(10, 30, servers, 10), "the next round is shuffled anew")

	for _, clients := range []int{1, 7, 90, 150} {
		weights := map[int]float64{}
		for client := range clients {
			list := aperture(client, clients, servers, 20)
			assert.GreaterOrEqual(t, len(list), 20)
			for _, m := range list {
				weights[m.Backend] += m.Weight
			}
		}
		require.Len(t, weights, subsetServers)
		for s, w := range weights {
			assert.InDelta(t, weights[0], w, 1e-9, "server %d of %d clients", s, clients)
		}
	}
}

func TestLookCountsNewConnections(t *testing.T) {
	// Every client has the first k servers that are there: when one of those leaves, one is
	// new.
	r := subsetRow{subsetWay{choose: func(_, _ int, servers []int, k int) []evenkeel.Member[int] { return alike(servers[:k]) }}, 10, nil}
	s := r.look()
	assert.Equal(t, 10*subsetClients, s.connections)
	assert.Equal(t, 0, s.fewest)
	assert.Equal(t, subsetClients, s.most)
	assert.InDelta(t, 0.1, s.byServer, 1e-9)
	assert.Zero(t, s.byClient)
	for _, w := range subsetWays {
		got := w.choose(3, subsetClients, allServers(), 10)
		slices.SortFunc(got, func(a, b evenkeel.Member[int]) int { return a.Backend - b.Backend })
		assert.Len(t, slices.Compact(slices.Clone(got)), len(got), w.name)
	}
}
