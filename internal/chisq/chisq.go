// Package chisq tests whether counts follow a distribution, for the tests of
// whatever draws at random.
package chisq

import (
	"fmt"
	"math"
	"slices"
)

// z is the quantile of the standard normal distribution at 1 - 1e-6: how rare
// counts must be, if they follow the weights, to be refused.
const z = 4.753

// Test compares counts with the weights that they should be in proportion to by
// Pearson's chi-square test, and returns an error if counts as far off have a
// probability of about 1e-6 or less. No weights stand for equal ones. A count
// whose weight is 0 must be 0.
//
// Every count with a weight above 0 should be expected to be 5 or more.
func Test(counts []int, weights ...float64) error {
	if weights == nil {
		weights = slices.Repeat([]float64{1}, len(counts))
	}
	if len(counts) != len(weights) {
		return fmt.Errorf("chisq: %d counts and %d weights", len(counts), len(weights))
	}
	var n, sum, x float64
	for i := range counts {
		n += float64(counts[i])
		sum += weights[i]
	}
	freedom := -1.0
	for i, w := range weights {
		if w == 0 {
			if counts[i] != 0 {
				return fmt.Errorf("chisq: count %d is %d and must be 0, of %v", i, counts[i], counts)
			}
			continue
		}
		want := n * w / sum
		if want < 5 {
			return fmt.Errorf("chisq: count %d is expected to be %.1f, which is too small to test", i, want)
		}
		x += (float64(counts[i]) - want) * (float64(counts[i]) - want) / want
		freedom++
	}
	if freedom < 1 {
		return nil
	}
	// Wilson and Hilferty, "The distribution of chi-square", 1931.
	part := 2 / (9 * freedom)
	if limit := freedom * math.Pow(1-part+z*math.Sqrt(part), 3); x > limit {
		return fmt.Errorf("chisq: %.1f with %.0f degrees of freedom, at most %.1f allowed: %v, in proportion to %v", x, freedom, limit, counts, weights)
	}
	return nil
}
