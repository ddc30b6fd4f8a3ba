//go:build !race

package bench

import (
	"testing"

	"github.com/evenkeel-go/evenkeel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The race detector allocates, so this is built without it.
func TestNothingIsAllocated(t *testing.T) {
	for _, policy := range policies {
		for name, kind := range map[string]func(*dispatcher) work{
			"Pick": picks, "Lease and Release": leasesReleased, "Lease and Done": leasesDone, "Do": calls,
		} {
			for _, n := range []int{2, 100} {
				pool := newPool(t, evenkeel.Config{}, n)
				w := kind(policy.make(pool, 1))
				require.NoError(t, w(t.Context(), 1)) // a policy may prepare itself
				allocs := testing.AllocsPerRun(100, func() { require.NoError(t, w(t.Context(), 10)) })
				assert.Zero(t, allocs, "%s of %s over %d backends", name, policy.name, n)
				requireInFlight(t, pool, 0)
			}
		}
	}
}
