package outlier_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/internal/outlier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	// 9 of 20 calls failed, while 1 of 200 failed on the others.
	fmt.Printf("%.1e\n", math.Exp(outlier.LnFisherTail(9, 20, 1, 200)))
	// The same 9 of 20 against a rate of 2 % that is always forgiven.
	fmt.Printf("%.1e\n", math.Exp(outlier.LnBinomialTail(9, 20, 0.02)))
	// Output:
	// 5.7e-10
	// 7.0e-11
}

func choose(n, k int64) *big.Int { return new(big.Int).Binomial(n, k) }

// ln is the logarithm of a/b, which may be below what a float64 holds.
func ln(a, b *big.Int) float64 {
	quotient := new(big.Float).Quo(new(big.Float).SetInt(a), new(big.Float).SetInt(b))
	mantissa := new(big.Float)
	exponent := quotient.MantExp(mantissa)
	f, _ := mantissa.Float64()
	return math.Log(f) + float64(exponent)*math.Ln2
}

// lnBinomialTail is that of p = 1/50, from a sum of whole numbers.
func lnBinomialTail(k, n int64) float64 {
	sum := new(big.Int)
	for i := k; i <= n; i++ {
		term := new(big.Int).Exp(big.NewInt(49), big.NewInt(n-i), nil)
		sum.Add(sum, term.Mul(term, choose(n, i)))
	}
	return ln(sum, new(big.Int).Exp(big.NewInt(50), big.NewInt(n), nil))
}

func lnFisherTail(k, n, f, c int64) float64 {
	sum := new(big.Int)
	for i := k; i <= min(n, k+f); i++ {
		sum.Add(sum, new(big.Int).Mul(choose(k+f, i), choose(n+c-k-f, n-i)))
	}
	return ln(sum, choose(n+c, n))
}

// The two tails against exact sums.
func TestTailsAreExact(t *testing.T) {
	for _, n := range []int64{1, 2, 5, 10, 40, 200} {
		for _, k := range []int64{1, 2, 5, 9, 40, 150} {
			if k > n {
				continue
			}
			if float64(k) > float64(n)*0.02 {
				assert.InEpsilon(t, lnBinomialTail(k, n), outlier.LnBinomialTail(float64(k), float64(n), 0.02), 1e-6, "%d of %d", k, n)
			}
			for _, c := range []int64{1, 10, 300} {
				for _, f := range []int64{0, 1, 7} {
					if f > c || k*c <= f*n {
						continue
					}
					want, got := lnFisherTail(k, n, f, c), outlier.LnFisherTail(float64(k), float64(n), float64(f), float64(c))
					assert.InDelta(t, want, got, 1e-6*math.Abs(want)+1e-9, "%d of %d against %d of %d", k, n, f, c)
				}
			}
		}
	}
}

// Probabilities far below the least float64 are exact too.
func TestTailsOfWhatHardlyEverHappens(t *testing.T) {
	assert.InEpsilon(t, lnBinomialTail(1500, 2000), outlier.LnBinomialTail(1500, 2000, 0.02), 1e-9)
	assert.InEpsilon(t, lnFisherTail(1500, 2000, 10, 3000), outlier.LnFisherTail(1500, 2000, 10, 3000), 1e-9)
	assert.Less(t, outlier.LnBinomialTail(1500, 2000, 0.02), math.Log(math.SmallestNonzeroFloat64))
}

// What lies outside the upper tail is never taken for rare.
func TestOutsideTheTail(t *testing.T) {
	assert.Zero(t, outlier.LnFisherTail(5, 5, 0, 0), "nobody to compare with")
	assert.Zero(t, outlier.LnFisherTail(0, 0, 5, 5), "nothing to compare")
	assert.Zero(t, outlier.LnFisherTail(5, 10, 50, 100), "no worse than the others")
	assert.Zero(t, outlier.LnFisherTail(5, 10, 51, 100), "better than the others")
	assert.Zero(t, outlier.LnBinomialTail(0, 0, 0.02))
	assert.Zero(t, outlier.LnBinomialTail(0, 10, 0))
	assert.Zero(t, outlier.LnBinomialTail(10, 10, 1))
	assert.Equal(t, math.Inf(-1), outlier.LnBinomialTail(1, 10, 0), "what cannot fail has failed")
	assert.Equal(t, math.Log(0.5), outlier.LnBinomialTail(20, 1000, 0.02), "as many as expected")
	assert.False(t, math.IsNaN(outlier.LnFisherTail(1e6, 1e6, 0, 1e6)))
}

func TestLnChoose(t *testing.T) {
	for _, c := range [][2]int64{{0, 0}, {1, 0}, {1, 1}, {10, 3}, {200, 100}, {1_000_000, 3}, {1_000_000, 10_000}} {
		want := ln(choose(c[0], c[1]), big.NewInt(1))
		assert.InDelta(t, want, outlier.LnChoose(float64(c[0]), float64(c[1])), 1e-8, c)
	}
}
