package draw_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/internal/draw"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	source := draw.NewSource(7) // a fixed sequence
	again := draw.NewSource(7)
	u := source.Uint64()
	fmt.Println(u == again.Uint64(), draw.Index(u, 10) < 10)
	// Output: true true
}

// F014: one draw gives an ordered pair of different indices, and every pair is as
// likely as any other.
func TestF014TwoIsUniformOverOrderedPairs(t *testing.T) {
	for n := 2; n <= 9; n++ {
		source := draw.NewSource(uint64(n))
		pairs := make([]int, n*n)
		equal := make([]float64, n*n)
		for range 1000 * n * (n - 1) {
			i, j := draw.Two(source.Uint64(), n)
			if i == j {
				require.NotEqual(t, i, j)
			}
			pairs[i*n+j]++
			equal[i*n+j] = 1
		}
		assert.NoError(t, chisq.Test(pairs, equal...), "n = %d", n)
	}
}

func TestIndexIsUniform(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 10, 64, 1000} {
		source := draw.NewSource(uint64(n))
		counts := make([]int, n)
		for range 1000 * n {
			counts[draw.Index(source.Uint64(), n)]++
		}
		assert.NoError(t, chisq.Test(counts), "n = %d", n)
	}
}

// The least and the greatest draw are in range, and sit at the two ends.
func TestEdges(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 1 << 20, math.MaxInt32} {
		assert.Equal(t, 0, draw.Index(0, n))
		assert.Equal(t, n-1, draw.Index(math.MaxUint64, n))
		if n < 2 {
			continue
		}
		i, j := draw.Two(0, n)
		assert.Equal(t, []int{0, 1}, []int{i, j})
		i, j = draw.Two(math.MaxUint64, n)
		assert.Equal(t, []int{n - 1, n - 2}, []int{i, j})
	}
	assert.Zero(t, draw.Unit(0))
	assert.Less(t, draw.Unit(math.MaxUint64), 1.0)
}

// A stream's numbers are as random as its source's, one after the other too.
func TestStream(t *testing.T) {
	stream := draw.Stream(1)
	pairs := make([]int, 64)
	last := 0
	for range 64_000 {
		next := draw.Index(stream.Next(), 8)
		pairs[last*8+next]++
		last = next
	}
	assert.NoError(t, chisq.Test(pairs))
}

// Mix is a bijection: no two inputs share an output.
func TestMix(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range uint64(1 << 16) {
		seen[draw.Mix(i)] = true
		seen[draw.Mix(i<<48|1<<47)] = true
	}
	assert.Len(t, seen, 2<<16)
}

func TestSeed(t *testing.T) {
	take := func(seed uint64) (list [8]uint64) {
		s := draw.NewSource(seed)
		for i := range list {
			list[i] = s.Uint64()
		}
		return list
	}
	assert.Equal(t, take(1), take(1))
	assert.NotEqual(t, take(1), take(2))
	assert.NotEqual(t, take(0), take(0), "unseeded")
	var zero draw.Source
	assert.NotEqual(t, zero.Uint64(), zero.Uint64(), "the zero Source is unseeded too")
}

// F159: a source is safe for many goroutines: seeded, each draw of the sequence
// goes to exactly one of them.
func TestF159ManyGoroutines(t *testing.T) {
	const goroutines, draws = 16, 2000
	source, alone := draw.NewSource(3), draw.NewSource(3)
	var got [goroutines][draws]uint64
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range draws {
				got[g][i] = source.Uint64()
			}
		})
	}
	all.Wait()
	seen := map[uint64]bool{}
	for g := range goroutines {
		for _, u := range got[g] {
			seen[u] = true
		}
	}
	require.Len(t, seen, goroutines*draws)
	for range goroutines * draws {
		if u := alone.Uint64(); !seen[u] {
			require.Contains(t, seen, u)
		}
	}
}

func BenchmarkSource(b *testing.B) {
	for _, seed := range []uint64{0, 1} {
		source := draw.NewSource(seed)
		b.Run(fmt.Sprintf("seed=%d", seed), func(b *testing.B) {
			for b.Loop() {
				source.Uint64()
			}
		})
	}
}
