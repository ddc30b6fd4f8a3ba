package subset_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/subset"
)

// ways are the two functions, for clients 0, 1, 2, ...
var ways = map[string]func(client int, backends []string, k int) []string{
	"ByID": func(client int, backends []string, k int) []string {
		return subset.ByID(fmt.Sprintf("client-%d", client), backends, k)
	},
	"ByNumber": subset.ByNumber[string],
}

func servers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("10.0.%d.%d:8080", i/250, i%250+1)
	}
	return list
}

// clientsOf counts the clients of each backend.
func clientsOf(way func(int, []string, int) []string, clients int, backends []string, k int) []int {
	counts := map[string]int{}
	for c := range clients {
		for _, b := range way(c, backends, k) {
			counts[b]++
		}
	}
	list := make([]int, len(backends))
	for i, b := range backends {
		list[i] = counts[b]
	}
	return list
}

// changes counts the entries of before that are not in after.
func changes(before, after []string) (n int) {
	for _, b := range before {
		if !slices.Contains(after, b) {
			n++
		}
	}
	return n
}

// When one backend leaves, at most one entry of each subset by id changes, and two of one by
// number; read backwards, that holds for one that joins.
func TestOneEntryChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	most := map[string]int{"ByID": 1, "ByNumber": 2}
	for range 300 {
		n := 2 + random.IntN(120)
		k, out := 1+random.IntN(n), random.IntN(n)
		all := servers(n)
		rest := slices.Concat(all[:out], all[out+1:])
		for name, way := range ways {
			for range 20 {
				client := random.IntN(1 << 20)
				before, after := way(client, all, k), way(client, rest, k)
				require.LessOrEqual(t, changes(before, after), most[name], "%s n=%d k=%d", name, n, k)
				require.Len(t, after, min(k, n-1))
			}
		}
	}
}

// By number about four of ten subsets change by one entry, and few by two.
func TestByNumberRarelyChangesTwo(t *testing.T) {
	all := servers(100)
	counts := make([]int, 3)
	for out := range all {
		rest := slices.Concat(all[:out], all[out+1:])
		for client := range 256 {
			counts[changes(subset.ByNumber(client, all, 10), subset.ByNumber(client, rest, 10))]++
		}
	}
	assert.InDelta(t, 0.4, float64(counts[1])/(256*100), 0.05)
	assert.Less(t, float64(counts[2])/(256*100), 0.001)
}

// ByID changes nothing where the backend that leaves is not in the subset.
func TestByIDKeepsWhatIsNotConcerned(t *testing.T) {
	all := servers(30)
	for client := range 200 {
		before := ways["ByID"](client, all, 7)
		for out, b := range all {
			if !slices.Contains(before, b) {
				assert.Equal(t, before, ways["ByID"](client, slices.Concat(all[:out], all[out+1:]), 7))
			}
		}
	}
}

// ByNumber gives backends numbers of clients that differ by at most the ones in the binary
// number of clients.
func TestByNumberIsEven(t *testing.T) {
	for _, n := range []int{7, 50, 100} {
		for _, k := range []int{1, 5, 6} {
			all := servers(n)
			counts := map[string]int{}
			for c := 1; c <= 1100; c++ {
				for _, b := range subset.ByNumber(c-1, all, k) {
					counts[b]++
				}
				least, most := math.MaxInt, 0
				for _, b := range all {
					least, most = min(least, counts[b]), max(most, counts[b])
				}
				require.LessOrEqual(t, most-least, bits.OnesCount(uint(c)), "n=%d k=%d C=%d", n, k, c)
			}
		}
	}
}

// ByID gives each backend a binomial number of clients.
func TestByIDIsBinomial(t *testing.T) {
	const clients, n, k = 5000, 100, 20
	counts := clientsOf(ways["ByID"], clients, servers(n), k)
	mean, sum := float64(clients*k)/n, 0.0
	sd := math.Sqrt(clients * (float64(k) / n) * (1 - float64(k)/n))
	for _, c := range counts {
		assert.InDelta(t, mean, c, 5*sd)
		sum += (float64(c) - mean) * (float64(c) - mean)
	}
	assert.InDelta(t, 1, math.Sqrt(sum/n)/sd, 0.35)
}

// F027: like clients do not all choose the same subset, and no backend is left out.
func TestF027NoBackendIsLeftOut(t *testing.T) {
	for name, way := range ways {
		counts := clientsOf(way, 100, servers(50), 5)
		assert.Positive(t, slices.Min(counts), name)
		if name == "ByNumber" {
			assert.LessOrEqual(t, slices.Max(counts)-slices.Min(counts), 3, "100 has three ones")
		}
	}
}

// The order of the list decides only the order of the subset.
func TestOrderOfTheListDoesNotMatter(t *testing.T) {
	all := servers(40)
	mixed := slices.Clone(all)
	random := rand.New(rand.NewPCG(1, 2))
	for name, way := range ways {
		for client := range 50 {
			random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			want, got := way(client, all, 9), way(client, mixed, 9)
			assert.ElementsMatch(t, want, got, name)
			assert.IsIncreasing(t, places(mixed, got), "%s: in the order of the list", name)
		}
	}
}

func places(list, of []string) (at []int) {
	for _, b := range of {
		at = append(at, slices.Index(list, b))
	}
	return at
}

func TestFewAndMany(t *testing.T) {
	all := servers(3)
	for name, way := range ways {
		for _, k := range []int{-1, 0} {
			assert.Empty(t, way(1, all, k), name)
		}
		for _, k := range []int{3, 4, 100} {
			got := way(1, all, k)
			assert.Equal(t, all, got, name)
			got[0] = "changed"
			assert.Equal(t, servers(3), all, "%s: the result is a list of its own", name)
		}
		assert.Empty(t, way(1, nil, 2), name)
	}
	assert.Len(t, subset.ByNumber(-1, all, 2), 2)
}

// The choice is the same on every machine and in every version.
func TestGolden(t *testing.T) {
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	got := map[string][]string{}
	for client := range 4 {
		for name, way := range ways {
			got[name] = append(got[name], fmt.Sprint(way(client, all, 3)))
		}
	}
	assert.Equal(t, map[string][]string{
		"ByID":     {"[d e f]", "[d e h]", "[f g h]", "[c d h]"},
		"ByNumber": {"[d e h]", "[b c g]", "[a e g]", "[b f h]"},
	}, got)
}
