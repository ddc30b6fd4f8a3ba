package p2c_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/p2c"
)

func TestConformance(t *testing.T) {
	lbtest.Run(t, p2c.New[string])
}

func TestConformanceOfOtherD(t *testing.T) {
	for _, d := range []int{1, 3, 20} {
		t.Run(fmt.Sprint("D=", d), func(t *testing.T) {
			lbtest.Run(t, func(pool *evenkeel.Pool[string]) evenkeel.Balancer[string] {
				lb, err := p2c.NewWith(pool, p2c.Config{D: d, Seed: 1})
				require.NoError(t, err)
				return lb
			})
		})
	}
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

func balancer(t *testing.T, pool *evenkeel.Pool[int], d int, seed uint64) *p2c.Balancer[int] {
	t.Helper()
	lb, err := p2c.NewWith(pool, p2c.Config{D: d, Seed: seed})
	require.NoError(t, err)
	return lb
}

// picks counts by index which backends are picked.
func picks(t *testing.T, pool *evenkeel.Pool[int], lb evenkeel.Balancer[int], n int) []int {
	t.Helper()
	counts := make([]int, pool.Len())
	for range n {
		b, err := lb.Pick()
		require.NoError(t, err)
		counts[b]++
	}
	return counts
}

// A drawer is a policy that notes the pairs View.DrawTwo draws.
type drawer struct{ pairs []int }

func (d *drawer) Choose(v evenkeel.View) (int, evenkeel.Load) {
	i, j := v.DrawTwo()
	d.pairs[i*v.Len()+j]++
	return i, evenkeel.Load{}
}

// F014: the two are different, and uniform over ordered pairs.
func TestF014OrderedPairs(t *testing.T) {
	for n := 2; n <= 9; n++ {
		pool := newPool(t, n)
		d := &drawer{make([]int, n*n)}
		lb := evenkeel.NewSeededDispatcher(pool, d, uint64(n))
		picks(t, pool, lb, 1000*n*(n-1))
		assert.NoError(t, chisq.Test(d.pairs, pairWeights(slicesOf(1, n))...), "n = %d", n)
	}
}

// Where weights differ the first is drawn by weight and the second likewise among
// the rest, also where one outweighs all the others.
func TestOrderedPairsByWeight(t *testing.T) {
	for _, weights := range [][]float64{{3, 2, 1}, {1, 1, 5, 1}, {0.5, 8}, {40, 1, 1, 2}} {
		n := len(weights)
		pool := newPool(t, n)
		for i, w := range weights {
			require.NoError(t, pool.SetWeight(i, w))
		}
		d := &drawer{make([]int, n*n)}
		lb := evenkeel.NewSeededDispatcher(pool, d, uint64(n))
		picks(t, pool, lb, 50_000)
		assert.NoError(t, chisq.Test(d.pairs, pairWeights(weights)...), "%v", weights)
	}
}

func slicesOf(v float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// pairWeights is how likely each ordered pair is when drawing without putting
// back, by weight.
func pairWeights(weights []float64) []float64 {
	n, sum := len(weights), 0.0
	for _, w := range weights {
		sum += w
	}
	pairs := make([]float64, n*n)
	for i, a := range weights {
		for j, b := range weights {
			if i != j {
				pairs[i*n+j] = a / sum * b / (sum - a)
			}
		}
	}
	return pairs
}

// rank gives backend i the load i+1, so that the least loaded of those looked at
// shows.
func rank(i, _ int) float64 { return float64(i + 1) }

// What p2c itself draws, seen by what it takes: with D looks at n backends of
// different loads, the k-th least loaded is taken if it and D-1 of the n-1-k
// heavier ones are looked at.
func TestDrawsDDifferent(t *testing.T) {
	for _, c := range []struct{ n, d int }{
		{2, 2}, {3, 2}, {4, 2}, {5, 2}, {6, 2}, {7, 2}, {8, 2}, {9, 2},
		{5, 3}, {9, 3}, {20, 3}, {30, 16}, {30, 17}, {22, 20}, {40, 20}, {5, 1},
	} {
		t.Run(fmt.Sprintf("n=%d,D=%d", c.n, c.d), func(t *testing.T) {
			pool := newPool(t, c.n)
			pool.SetLoad(each(rank))
			lb := balancer(t, pool, c.d, 11)
			want := make([]float64, c.n)
			for k := range want {
				want[k] = choose(c.n-1-k, c.d-1)
				if want[k] < choose(c.n, c.d)*5e-4 { // too rare to test
					want = want[:k]
					break
				}
			}
			got := picks(t, pool, lb, 20_000)
			rare := 0
			for _, n := range got[len(want):] {
				rare += n
			}
			assert.Less(t, rare, 100)
			assert.NoError(t, chisq.Test(got[:len(want)], want...))
		})
	}
}

func choose(n, k int) float64 {
	if k > n {
		return 0
	}
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// With D at or above the number of backends p2c is a full scan: the least loaded
// is always taken, and ties are broken evenly.
func TestFullScan(t *testing.T) {
	for _, d := range []int{5, 6, 20, 1000} {
		pool := newPool(t, 5)
		lb := balancer(t, pool, d, 3)
		pool.SetLoad(each(func(i, _ int) float64 { return float64(5 - i) }))
		assert.Equal(t, []int{0, 0, 0, 0, 2000}, picks(t, pool, lb, 2000), "D = %d", d)
		pool.SetLoad(each(func(i, _ int) float64 { return float64(i%2 + 1) }))
		assert.NoError(t, chisq.Test(picks(t, pool, lb, 30_000), 1, 0, 1, 0, 1), "D = %d", d)
	}
}

// F016, F022: whichever of five are tied for the least load, none of them is
// favoured, for its place in the list or for its neighbour.
func TestF016TiesOfEverySubset(t *testing.T) {
	for _, d := range []int{2, 3, 4} {
		for tied := 1; tied < 32; tied++ {
			for _, least := range []float64{0, 1} { // idle ones may be found early
				pool := newPool(t, 5)
				pool.SetLoad(each(func(i, _ int) float64 {
					if tied>>i&1 == 1 {
						return least
					}
					return 2
				}))
				lb := balancer(t, pool, d, uint64(tied))
				assert.NoError(t, chisq.Test(picks(t, pool, lb, 3000), tiedWeights(5, d, tied)...),
					"D = %d, tied %05b, load %v", d, tied, least)
			}
		}
	}
}

// tiedWeights is how often each of n should be taken when the set bits of tied
// are the least loaded and the others tie too: over all sets of d that can be
// looked at, the best in each by equal shares.
func tiedWeights(n, d, tied int) []float64 {
	weights := make([]float64, n)
	for look := 1; look < 1<<n; look++ {
		if bitsIn(look) != d {
			continue
		}
		best := look & tied
		if best == 0 {
			best = look
		}
		for i := range n {
			if best>>i&1 == 1 {
				weights[i] += 1 / float64(bitsIn(best))
			}
		}
	}
	return weights
}

func bitsIn(set int) (n int) {
	for ; set > 0; set &= set - 1 {
		n++
	}
	return n
}

// The same where so many are looked at that the draw is another one.
func TestTiesWithManyLooks(t *testing.T) {
	pool := newPool(t, 30)
	lb := balancer(t, pool, 20, 5)
	pool.SetLoad(each(func(int, int) float64 { return 1 }))
	assert.NoError(t, chisq.Test(picks(t, pool, lb, 30_000)))
	pool.SetLoad(each(func(i, _ int) float64 {
		if i == 3 || i == 4 || i == 29 {
			return 1
		}
		return 2
	}))
	got := picks(t, pool, lb, 30_000)
	assert.NoError(t, chisq.Test([]int{got[3], got[4], got[29]}))
	got[3], got[4], got[29] = 0, 0, 0
	weights := slicesOf(1, 30)
	weights[3], weights[4], weights[29] = 0, 0, 0
	assert.NoError(t, chisq.Test(got, weights...))
}

// F014: a loaded backend's neighbour does not inherit its share.
func TestF014NeighbourOfALoadedOne(t *testing.T) {
	pool := newPool(t, 5)
	pool.SetLoad(each(func(i, inFlight int) float64 {
		if i == 2 {
			return 1000
		}
		return float64(inFlight)
	}))
	const n = 1_000_000
	got := picks(t, pool, balancer(t, pool, 2, 1), n)
	assert.Zero(t, got[2])
	for _, i := range []int{0, 1, 3, 4} {
		assert.InDelta(t, 0.25, float64(got[i])/n, 0.005, "backend %d", i)
	}
}

// With two backends both are looked at: the busy one gets nothing.
func TestTwoBackendsOneBusy(t *testing.T) {
	pool := newPool(t, 2)
	lb := balancer(t, pool, 2, 1)
	busy, err := lb.Lease(t.Context())
	require.NoError(t, err)
	want := []int{100_000, 100_000}
	want[busy.Backend()] = 0
	assert.Equal(t, want, picks(t, pool, lb, 100_000))
	busy.Release()
	assert.NoError(t, chisq.Test(picks(t, pool, lb, 100_000)))
}

// F032: who is out is filtered first, then the best of the rest is taken; a
// better one that is out hides nobody.
func TestF032UsableFirst(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		pool := newPool(t, 2)
		require.NoError(t, pool.Replace(order...))
		pool.SetLoad(each(rank))
		require.NoError(t, pool.Eject(0))
		assert.Equal(t, []int{0, 100}, picks(t, pool, balancer(t, pool, 2, 1), 100))
	}
}

func TestOneBackend(t *testing.T) {
	for _, d := range []int{1, 2, 3, 20} {
		pool := newPool(t, 1)
		assert.Equal(t, []int{100}, picks(t, pool, balancer(t, pool, d, 1), 100))
	}
}

func TestConfig(t *testing.T) {
	pool := newPool(t, 3)
	_, err := p2c.NewWith(pool, p2c.Config{D: -1})
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	assert.ErrorContains(t, err, "p2c.Config.D: -1")

	// D = 0 is 2: the most loaded of three never wins, the middle one sometimes.
	pool.SetLoad(each(rank))
	got := picks(t, pool, balancer(t, pool, 0, 9), 3000)
	assert.NoError(t, chisq.Test(got, 2, 1, 0))

	// One seed, one sequence.
	again := func(seed uint64) (list []int) {
		lb := balancer(t, newPool(t, 10), 2, seed)
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
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:8080", "10.0.0.2:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := p2c.New(pool)

	ctx := context.Background()
	slow, err := lb.Lease(ctx) // one of the two is busy
	if err != nil {
		fmt.Println(err)
		return
	}
	defer slow.Release()

	other, err := lb.Lease(ctx) // so the next call goes to the other
	if err != nil {
		fmt.Println(err)
		return
	}
	defer other.Release()
	fmt.Println(slow.Backend() != other.Backend())
	// Output: true
}

func ExampleNewWith() {
	backends := make([]string, 100)
	for i := range backends {
		backends[i] = "server-" + strconv.Itoa(i)
	}
	pool, err := evenkeel.NewPool(evenkeel.Config{}, backends...)
	if err != nil {
		fmt.Println(err)
		return
	}
	lb, err := p2c.NewWith(pool, p2c.Config{D: 3, Seed: 42}) // a run to be repeated
	if err != nil {
		fmt.Println(err)
		return
	}
	again, _ := p2c.NewWith(pool, p2c.Config{D: 3, Seed: 42})
	one, _ := lb.Pick()
	two, _ := again.Pick()
	fmt.Println(one == two)
	// Output: true
}

// each makes a signal that SetLoad takes of one that is given the backend.
func each[T comparable](load func(backend T, inFlight int) float64) func(T) func(int) float64 {
	return func(b T) func(int) float64 { return func(n int) float64 { return load(b, n) } }
}
