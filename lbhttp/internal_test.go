package lbhttp

import (
	"fmt"
	"maps"
	"testing"

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

// Of too many names it is the one used least recently that gives way: the names in
// use stay, however many strangers come and go.
func TestNameUsedLeastRecentlyGivesWay(t *testing.T) {
	c := NewConns(nil)
	at := c.target("a:80")
	use := func(format string, args ...any) *route {
		r := c.enter(at, name{"http", fmt.Sprintf(format, args...), true})
		r.leave()
		return r
	}
	names := make([]*route, maxNames)
	for i := range names {
		names[i] = use("svc%d", i)
	}
	for i := range 10 {
		use("svc%d", i) // the first ten once more
	}
	for i := range maxNames - 10 {
		use("stranger%d", i)
		assert.True(t, names[10+i].retired.Load(), "used least recently")
		assert.Len(t, *at.routes.Load(), maxNames)
	}
	for i := range 10 {
		assert.Same(t, names[i], use("svc%d", i))
	}
	for i := range 3 * maxNames {
		use("more%d", i)
		use("svc0") // by far the most used, and alone on its way again and again
		use("svc0")
	}
	assert.Same(t, names[0], use("svc0"))
	assert.True(t, names[1].retired.Load())
}
