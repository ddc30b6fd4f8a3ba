package lbhttp

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A backend that is used again in the moment when it is swept away is not lost
// sight of.
func TestSweptTargetIsTakenUpAgain(t *testing.T) {
	c := NewConns(nil)
	sweep := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		all := maps.Clone(*c.targets.Load())
		c.sweep(all, c.swept.Add(sweepEvery))
		c.targets.Store(&all)
	}
	at := c.target("a:80")
	r := c.enter(at, name{"http", "svc", true})
	sweep()
	assert.Contains(t, *c.targets.Load(), "a:80", "used since the last sweep")
	sweep()
	assert.Contains(t, *c.targets.Load(), "a:80", "in use")
	r.leave()
	sweep() // its way there is closed
	sweep() // and it is forgotten
	assert.NotContains(t, *c.targets.Load(), "a:80")
	assert.True(t, r.retired.Load())

	again := c.enter(at, name{"http", "svc", true}) // at was looked up before the sweep
	assert.NotSame(t, r, again)
	assert.Same(t, at, (*c.targets.Load())["a:80"])
	again.leave()

	sweep()
	sweep()
	fresh := c.target("a:80")
	assert.NotSame(t, at, fresh)
	other := c.enter(at, name{"http", "svc", true})
	assert.Same(t, fresh, other.target, "meanwhile there is a new one")
	other.leave()
}

func TestBudgetCountsRequestsWhereTheyFell(t *testing.T) {
	start := time.Now()
	b := &budget{share: 0.2, perSecond: 1, start: start}
	spend := func(at time.Duration) (n int) {
		for b.spend(start.Add(at)) {
			n++
		}
		return n
	}
	b.requests.Add(1000)
	assert.Equal(t, 10+90, spend(20*time.Second), "of 1000 requests over 20 s, 450 fell into the nine seconds before this one")
	assert.Zero(t, spend(19*time.Second), "a clock that goes back changes nothing")
	b.refund()
	assert.Equal(t, 1, spend(20*time.Second))
	assert.Zero(t, spend(25*time.Second))
	assert.Equal(t, 10, spend(40*time.Second), "what was 20 s ago no longer counts, neither way")
	b.requests.Add(1000)
	assert.Equal(t, 10+90, spend(60*time.Second))
}
