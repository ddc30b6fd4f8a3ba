package budget_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel/internal/budget"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spent is how many retries the budget allows now.
func spent(b *budget.Budget, now time.Time) (n int) {
	for b.Spend(now) {
		n++
	}
	return n
}

func TestShareAndRate(t *testing.T) {
	start := time.Unix(0, 0)
	b := budget.New(0.2, 1, start)
	assert.Equal(t, 10, spent(b, start), "one a second, for the whole window")
	for range 100 {
		b.Count()
	}
	assert.EqualValues(t, 100, b.Calls())
	assert.Equal(t, 20, spent(b, start), "and a fifth of the calls")
	b.Refund()
	assert.Equal(t, 1, spent(b, start))
	assert.Equal(t, 10, spent(b, start.Add(time.Minute)), "the window slides")
	assert.Zero(t, spent(budget.New(0, 0, start), start))
}
