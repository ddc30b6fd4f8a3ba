package main

import (
	"cmp"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/subset"
)

// A subsetWay says which of n servers a client talks to, with which weights. The servers
// are those of 0 to n-1 but for gone.
type subsetWay struct {
	name, title string
	choose      func(client, clients int, servers []int, k int) []evenkeel.Member[int]
}

var subsetWays = []subsetWay{
	{"all", "all servers", func(_, _ int, servers []int, _ int) []evenkeel.Member[int] { return alike(servers) }},
	{"id", "subset.ByID", func(client, _ int, servers []int, k int) []evenkeel.Member[int] {
		return alike(numbers(subset.ByID("client "+strconv.Itoa(client), serverNames(servers), k)))
	}},
	{"number", "subset.ByNumber", func(client, _ int, servers []int, k int) []evenkeel.Member[int] {
		return alike(numbers(subset.ByNumber(client, serverNames(servers), k)))
	}},
	{"deterministic", "deterministic subsetting", deterministic},
	{"aperture", "deterministic aperture", aperture},
}

func serverNames(servers []int) []string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = strconv.Itoa(s)
	}
	return list
}

func numbers(texts []string) []int {
	list := make([]int, len(texts))
	for i, text := range texts {
		list[i], _ = strconv.Atoi(text) // made by serverNames
	}
	return list
}

func alike(servers []int) []evenkeel.Member[int] {
	list := make([]evenkeel.Member[int], len(servers))
	for i, s := range servers {
		list[i] = evenkeel.Member[int]{Backend: s, Weight: 1}
	}
	return list
}

// deterministic is Google's algorithm: each round of n/k clients shares out one shuffled
// list ("Site Reliability Engineering", 2016, chapter 20).
func deterministic(client, _ int, servers []int, k int) []evenkeel.Member[int] {
	count := len(servers) / k
	list := slices.Clone(servers)
	random := rand.New(rand.NewPCG(uint64(client/count), 1))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	start := client % count * k
	return alike(list[start : start+k])
}

// aperture is Twitter's deterministic aperture: clients and servers each divide a ring
// evenly, and a client has the servers that its arc touches, each with the part that lies in
// it as weight. The arc is as many times 1/clients long as k servers need (finagle,
// "Deterministic Aperture", 2019).
func aperture(client, clients int, servers []int, k int) []evenkeel.Member[int] {
	ring := slices.Clone(servers)
	slices.SortFunc(ring, func(a, b int) int { return cmp.Compare(ringPlace(a), ringPlace(b)) })
	n := float64(len(ring))
	from := float64(client) / float64(clients) * n
	to := from + math.Ceil(float64(k)/n*float64(clients))/float64(clients)*n
	var list []evenkeel.Member[int]
	for at := math.Floor(from); at < to; at++ {
		part := min(to, at+1) - max(from, at)
		if part > 1e-9 {
			list = append(list, evenkeel.Member[int]{Backend: ring[int(at)%len(ring)], Weight: part})
		}
	}
	if len(list) > len(ring) { // the arc ends in the slot where it begins
		list[0].Weight += list[len(list)-1].Weight
		list = list[:len(list)-1]
	}
	return list
}

func ringPlace(server int) uint64 {
	h := fnv.New64a()
	h.Write([]byte("server " + strconv.Itoa(server)))
	return h.Sum64() * 0x9e3779b97f4a7c15
}
