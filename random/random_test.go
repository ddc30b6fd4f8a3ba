package random_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/random"
)

func TestConformance(t *testing.T) {
	lbtest.Run(t, random.New[string])
}

// newPool makes a pool whose backends are the numbers 0 to n-1.
func newPool(t *testing.T, n int) *evenkeel.Pool[int] {
	t.Helper()
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	pool, err := evenkeel.NewPool(evenkeel.Config{}, list...)
	require.NoError(t, err)
	return pool
}

func picks(t *testing.T, pool *evenkeel.Pool[int], seed uint64, n int) []int {
	t.Helper()
	lb := must(random.NewWith(pool, random.Config{Seed: seed}))
	counts := make([]int, pool.Len())
	for range n {
		b, err := lb.Pick()
		require.NoError(t, err)
		counts[b]++
	}
	return counts
}

// F017: whoever is ejected, the rest get the same, neighbours included.
func TestF017UniformWithAnySubsetEjected(t *testing.T) {
	for in := 1; in < 32; in++ {
		pool := newPool(t, 5)
		weights := make([]float64, 5)
		for i := range weights {
			weights[i] = float64(in >> i & 1)
			if weights[i] == 0 {
				require.NoError(t, pool.Eject(i))
			}
		}
		assert.NoError(t, chisq.Test(picks(t, pool, uint64(in), 5000), weights...), "in: %05b", in)
	}
}

// Loads do not matter, weights do.
func TestByWeightWhateverTheLoad(t *testing.T) {
	for _, weights := range [][]float64{{1, 1, 1}, {3, 2, 1}, {0, 1, 7, 0.5}, {1, 100}} {
		pool := newPool(t, len(weights))
		for i, w := range weights {
			require.NoError(t, pool.SetWeight(i, w))
		}
		pool.SetLoad(each(func(i, _ int) float64 { return float64(1000 * i) }))
		assert.NoError(t, chisq.Test(picks(t, pool, 5, 50_000), weights...), "%v", weights)
	}
}

func TestSeed(t *testing.T) {
	again := func(seed uint64) (list []int) {
		lb := must(random.NewWith(newPool(t, 10), random.Config{Seed: seed}))
		for range 20 {
			b, err := lb.Pick()
			require.NoError(t, err)
			list = append(list, b)
		}
		return list
	}
	assert.Equal(t, again(4), again(4))
	assert.NotEqual(t, again(4), again(5))
}

func Example() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := random.New(pool)
	got := map[string]int{}
	for range 1000 {
		backend, err := lb.Pick()
		if err != nil {
			fmt.Println(err)
			return
		}
		got[backend]++
	}
	fmt.Println(got["a"]+got["b"], got["a"] > 400, got["b"] > 400)
	// Output: 1000 true true
}

// must is for constructors that cannot fail as they are called.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// each makes a signal that SetLoad takes of one that is given the backend.
func each[T comparable](load func(backend T, inFlight int) float64) func(T) func(int) float64 {
	return func(b T) func(int) float64 { return func(n int) float64 { return load(b, n) } }
}
