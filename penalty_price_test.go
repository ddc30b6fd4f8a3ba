package evenkeel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// endOn makes calls on one backend that end well.
func endOn(t *testing.T, pool *evenkeel.Pool[string], backend string, n int) {
	t.Helper()
	for range n {
		require.Equal(t, backend, call(t, onto(pool, backend), ok))
	}
}

// A failed call stays on the books until the others have ended one call each that did
// not fail.
func TestPriceOfAFailure(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}}, "A", "B", "C", "D")
	penalty := func() int { return stats(pool, "A").Penalty }
	failOn(t, pool, "A", 1)
	assert.Equal(t, 1, penalty())
	endOn(t, pool, "B", 1)
	failOn(t, pool, "B", 5)
	endOn(t, pool, "C", 1)
	assert.Equal(t, 1, penalty(), "calls that fail pay for nobody")
	endOn(t, pool, "D", 1)
	assert.Zero(t, penalty())
	assert.Zero(t, stats(pool, "A").InFlight)
}

// A penalty that has ended otherwise is not paid for once more, at the cost of a later one.
func TestPenaltyIsPaidForOnce(t *testing.T) {
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	penalty := func() int { return stats(pool, "A").Penalty }
	failOn(t, pool, "A", 1)
	endOn(t, pool, "B", 1)
	require.NoError(t, pool.Eject("A"))
	assert.Zero(t, penalty(), "who leaves the rotation has no penalty")
	require.NoError(t, pool.Restore("A"))
	failOn(t, pool, "A", 1)
	assert.Equal(t, 1, penalty())
	endOn(t, pool, "B", 1)
	assert.Equal(t, 1, penalty(), "one of two: the end before the ejection was for the first penalty")
	endOn(t, pool, "C", 1)
	assert.Zero(t, penalty())
}

// An ejection by outcome ends the penalty of the calls that led to it.
func TestEjectionEndsThePenalty(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	failOn(t, pool, "A", 4)
	assert.NotZero(t, stats(pool, "A").Penalty)
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
	assert.Zero(t, stats(pool, "A").Penalty)
	assert.Zero(t, stats(pool, "A").InFlight)
}

// A success ends a run of failures also when their penalty is paid and nothing else is
// open on the backend.
func TestSuccessEndsARunThatIsPaidFor(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	failOn(t, pool, "A", 4)
	for stats(pool, "A").Penalty > 0 {
		endOn(t, pool, "B", 1)
	}
	endOn(t, pool, "A", 1)
	failOn(t, pool, "A", 4)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
}
