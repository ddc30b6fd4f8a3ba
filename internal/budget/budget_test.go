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

func count(b *budget.Budget, n int) {
	for range n {
		b.Count()
	}
}

func TestBudgetCountsRequestsWhereTheyFell(t *testing.T) {
	start := time.Now()
	b := budget.New(0.2, 1, start)
	spend := func(at time.Duration) (n int) {
		for b.Spend(start.Add(at)) {
			n++
		}
		return n
	}
	count(b, 1000)
	assert.Equal(t, 10+90, spend(20*time.Second), "of 1000 requests over 20 s, 450 fell into the nine seconds before this one")
	assert.Zero(t, spend(19*time.Second), "a clock that goes back changes nothing")
	b.Refund()
	assert.Equal(t, 1, spend(20*time.Second))
	assert.Zero(t, spend(25*time.Second))
	assert.Equal(t, 10, spend(40*time.Second), "what was 20 s ago no longer counts, neither way")
	count(b, 1000)
	assert.Equal(t, 10+90, spend(60*time.Second))
}

// What a retry took is put back although time has passed: it waited for its
// backend.
func TestBudgetIsRefundedLater(t *testing.T) {
	start := time.Now()
	b := budget.New(0, 0.1, start)
	assert.True(t, b.Spend(start))
	assert.False(t, b.Spend(start.Add(2*time.Second)))
	b.Refund()
	assert.True(t, b.Spend(start.Add(2*time.Second)))
	assert.False(t, b.Spend(start.Add(2*time.Second)))
}
