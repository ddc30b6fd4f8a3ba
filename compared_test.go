package evenkeel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/roundrobin"
)

// A backend is left out of what it is compared with: the others are the others
// alone, and the cause of its ejection counts them.
func TestNobodyIsComparedWithItself(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{Consecutive: -1}}, "A", "B")
	lb := roundrobin.New(pool)
	others := 0 // calls on B
	for stats(pool, "A").State == evenkeel.StateActive && others < 1000 {
		c.Advance(time.Millisecond)
		lease, err := lb.Lease(context.Background())
		if !assert.NoError(t, err) {
			return
		}
		if lease.Backend() == "A" {
			lease.Done(errBroken)
		} else {
			others++
			lease.Done(nil)
		}
	}
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateEjectedByOutcome, s.State)
	assert.ErrorContains(t, s.Cause, "against 0 of ")
}
