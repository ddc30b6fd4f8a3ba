package sqf_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestConformance(t *testing.T) {
	lbtest.Run(t, sqf.New[string])
}

// newPool makes a pool whose backends are the numbers 0 to n-1, so that the test
// can set the load of each and count by index.
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

// picks counts by index which backends are picked.
func picks(t *testing.T, pool *evenkeel.Pool[int], seed uint64, n int) []int {
	t.Helper()
	lb := must(sqf.NewWith(pool, sqf.Config{Seed: seed}))
	counts := make([]int, pool.Len())
	for range n {
		b, err := lb.Pick()
		require.NoError(t, err)
		counts[b]++
	}
	return counts
}

// F016, F022: whichever of five are tied for the least load, each of them gets the
// same, and the others nothing.
func TestF016TiesOfEverySubset(t *testing.T) {
	for tied := 1; tied < 32; tied++ {
		for _, least := range []float64{0, 1} { // idle ones may be found early
			pool := newPool(t, 5)
			weights := make([]float64, 5)
			for i := range weights {
				weights[i] = float64(tied >> i & 1)
			}
			pool.SetLoad(each(func(i, _ int) float64 { return least + 1 - weights[i] }))
			assert.NoError(t, chisq.Test(picks(t, pool, uint64(tied), 5000), weights...), "tied %05b, load %v", tied, least)
		}
	}
}

// The same where the load is the number of calls, and nobody is idle.
func TestTiesOfBusyOnes(t *testing.T) {
	for tied := 1; tied < 32; tied++ {
		pool := newPool(t, 5)
		weights := make([]float64, 5)
		for i := range weights {
			weights[i] = float64(tied >> i & 1)
			others := make([]int, 0, 4)
			for k := range weights {
				if k != i {
					others = append(others, k)
				}
			}
			for range 2 - tied>>i&1 {
				lease, err := sqf.New(pool).LeaseFor(t.Context(), evenkeel.Call[int]{Avoid: others})
				require.NoError(t, err)
				defer lease.Release()
			}
		}
		assert.NoError(t, chisq.Test(picks(t, pool, uint64(tied), 5000), weights...), "tied %05b", tied)
	}
}

// Ties go by weight where weights differ: equal loads by weight are equal.
func TestTiesByWeight(t *testing.T) {
	for _, load := range []float64{0, 1} {
		pool := newPool(t, 4)
		weights := []float64{3, 2, 1, 0.5}
		for i, w := range weights {
			require.NoError(t, pool.SetWeight(i, w))
		}
		pool.SetLoad(each(func(i, _ int) float64 { return load * weights[i] }))
		assert.NoError(t, chisq.Test(picks(t, pool, 8, 20_000), weights...), "load %v", load)
	}
}

// The least loaded wins wherever it stands, whatever the order of the list.
func TestTakesTheLeast(t *testing.T) {
	for least := range 9 {
		pool := newPool(t, 9)
		pool.SetLoad(each(func(i, _ int) float64 {
			if i == least {
				return 0.5
			}
			return 1 + float64(i)
		}))
		assert.Equal(t, 200, picks(t, pool, 1, 200)[least])
	}
}

// Calls that stay open fill all backends evenly: a queue that is never longer
// than another by more than one.
func TestFillsEvenly(t *testing.T) {
	pool := newPool(t, 7)
	lb := must(sqf.NewWith(pool, sqf.Config{Seed: 2}))
	leases := make([]evenkeel.Lease[int], 700)
	for i := range leases {
		var err error
		leases[i], err = lb.Lease(t.Context())
		require.NoError(t, err)
		for b := range 7 {
			require.LessOrEqual(t, pool.InFlight(b), i/7+1)
			require.GreaterOrEqual(t, pool.InFlight(b), (i+1)/7)
		}
	}
	for i := range leases {
		leases[i].Release()
	}
	lbtest.RequireIdle(t, pool)
}

// The load is divided by the weight: a backend of weight 3 holds three times as
// many calls when all are as loaded as can be.
func TestFillsByWeight(t *testing.T) {
	pool := newPool(t, 3)
	for i, w := range []float64{3, 2, 1} {
		require.NoError(t, pool.SetWeight(i, w))
	}
	lb := must(sqf.NewWith(pool, sqf.Config{Seed: 2}))
	leases := make([]evenkeel.Lease[int], 600)
	for i := range leases {
		var err error
		leases[i], err = lb.Lease(t.Context())
		require.NoError(t, err)
	}
	for b, want := range []int{300, 200, 100} {
		assert.InDelta(t, want, pool.InFlight(b), 1)
	}
	for i := range leases {
		leases[i].Release()
	}
	lbtest.RequireIdle(t, pool)
}

// F032: who is out is filtered first, then the best of the rest is taken.
func TestF032UsableFirst(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		pool := newPool(t, 2)
		require.NoError(t, pool.Replace(order...))
		pool.SetLoad(each(func(i, _ int) float64 { return float64(10 + 10*i) }))
		require.NoError(t, pool.Eject(0))
		assert.Equal(t, []int{0, 100}, picks(t, pool, 1, 100))
	}
}

// F161 does not apply: there is no heap whose order could be lost; a scan keeps
// nothing from one pick to the next.

func TestSeed(t *testing.T) {
	again := func(seed uint64) (list []int) {
		lb := must(sqf.NewWith(newPool(t, 10), sqf.Config{Seed: seed}))
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
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "c")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := sqf.New(pool)

	// Calls that are open together spread over all backends.
	used := map[string]bool{}
	for range 3 {
		lease, err := lb.Lease(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer lease.Release()
		used[lease.Backend()] = true
	}
	fmt.Println(len(used), "backends used")
	// Output: 3 backends used
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
