package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// The same run on virtual time: the blind policies drown the slow backend, those
// that look at loads do not, and what comes out is the same every time.
func TestSlowBackendOnVirtualTime(t *testing.T) {
	got := map[string]outcome{}
	for _, policy := range policies {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got[policy.name] = slowBackendRun(t, policy.make, 7)
			assert.Greater(t, time.Since(began), 700*time.Millisecond, "virtual: 400 requests at 500 a second")
		})
	}
	for _, blind := range []string{"random", "roundrobin"} {
		for _, aware := range []string{"p2c", "sqf"} {
			assert.Greater(t, got[blind].p99, 4*got[aware].p99, "%s against %s", blind, aware)
			assert.Greater(t, got[blind].max, 4*got[aware].max, "%s against %s", blind, aware)
			assert.Greater(t, got[blind].slowShare, 1.5*got[aware].slowShare, "%s against %s", blind, aware)
		}
	}
	assert.InDelta(t, 0.125, got["roundrobin"].slowShare, 1e-12)
	t.Logf("%+v", got)
}
