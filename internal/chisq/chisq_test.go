package chisq_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/internal/chisq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func throw(seed uint64, n int, weights ...float64) []int {
	r := rand.New(rand.NewPCG(seed, 1))
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	counts := make([]int, len(weights))
	for range n {
		at := r.Float64() * sum
		for i, w := range weights {
			if at -= w; at < 0 {
				counts[i]++
				break
			}
		}
	}
	return counts
}

func TestAcceptsWhatFollows(t *testing.T) {
	for seed := range uint64(200) {
		assert.NoError(t, chisq.Test(throw(seed, 5000, 1, 1, 1, 1)))
		assert.NoError(t, chisq.Test(throw(seed, 5000, 3, 2, 1, 0), 3, 2, 1, 0))
	}
}

func TestRefusesWhatDoesNot(t *testing.T) {
	for seed := range uint64(200) {
		assert.Error(t, chisq.Test(throw(seed, 20_000, 1, 1.2, 1, 1)))
		assert.Error(t, chisq.Test(throw(seed, 20_000, 3, 2, 1.2), 3, 2, 1))
	}
	assert.Error(t, chisq.Test([]int{1000, 1}, 1, 0), "a weight of 0")
	assert.Error(t, chisq.Test([]int{1, 1}), "too few to say")
	assert.Error(t, chisq.Test([]int{100, 100}, 1), "another length")
	assert.NoError(t, chisq.Test([]int{100, 0}, 1, 0), "nothing to compare")
}

func Example() {
	fmt.Println(chisq.Test([]int{1000, 1010, 990}))
	fmt.Println(chisq.Test([]int{1000, 2000}, 1, 2))
	// Output:
	// <nil>
	// <nil>
}
