package draw_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/internal/draw"
)

func ExampleAliasTable() {
	table := draw.NewAliasTable([]float64{1, 0, 3})
	source := draw.NewSource(1)
	var counts [3]int
	for range 40_000 {
		counts[table.Draw(source.Uint64())]++
	}
	fmt.Println(counts[1], counts[2] > 2*counts[0])
	// Output: 0 true
}

// Indices come in proportion to their weights, whatever these are.
func TestAliasTableDrawsByWeight(t *testing.T) {
	for name, weights := range map[string][]float64{
		"one":             {7},
		"equal":           {1, 1, 1, 1, 1},
		"different":       {1, 2, 3, 4},
		"with zeros":      {0, 1, 0, 2, 0},
		"one that towers": {1, 1, 1000, 1},
		"small":           {1e-300, 2e-300, 3e-300},
		"least":           {math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64},
		"great":           {math.MaxFloat64, math.MaxFloat64, math.MaxFloat64 / 2},
		"rounded":         {0.1, 0.2, 0.3, 0.7, 0.1, 0.1},
	} {
		table, source := draw.NewAliasTable(weights), draw.NewSource(5)
		counts := make([]int, len(weights))
		for range 200_000 {
			counts[table.Draw(source.Uint64())]++
		}
		scaled := make([]float64, len(weights))
		for i := range weights { // the sum of the great ones is too great
			scaled[i] = weights[i] / maxOf(weights)
		}
		assert.NoError(t, chisq.Test(counts, scaled...), name)
	}
}

func maxOf(weights []float64) (most float64) {
	for _, w := range weights {
		most = max(most, w)
	}
	return most
}

// The least and the greatest draw, and those at the edges of columns, are in
// range, and an index of weight 0 is never drawn.
func TestAliasTableEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(0, 1e300)), 1, 40).Draw(t, "weights")
		if maxOf(weights) == 0 {
			weights[0] = 1
		}
		table := draw.NewAliasTable(weights)
		for i := range weights {
			edge := uint64(i) * (math.MaxUint64 / uint64(len(weights)))
			for _, u := range []uint64{0, edge, edge + 1, math.MaxUint64 - edge, math.MaxUint64} {
				at := table.Draw(u)
				require.GreaterOrEqual(t, at, 0)
				require.Less(t, at, len(weights))
				require.Positive(t, weights[at])
			}
		}
	})
}

func TestAliasTableAllocatesNothing(t *testing.T) {
	table, source := draw.NewAliasTable([]float64{1, 2, 3}), draw.NewSource(0)
	var sum int
	assert.Zero(t, testing.AllocsPerRun(100, func() { sum += table.Draw(source.Uint64()) }))
	assert.Positive(t, sum)
}
