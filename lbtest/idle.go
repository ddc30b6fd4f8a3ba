package lbtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// RequireIdle ends the test as failed if a lease of pool is still open, and says
// on which backends, and how many; backends that were removed while a lease on
// them was open are named too. Call it when every call of the test should be
// over, for instance by t.Cleanup. It does not wait.
func RequireIdle[T comparable](t testing.TB, pool *evenkeel.Pool[T]) {
	t.Helper()
	if pool == nil {
		t.Fatalf("lbtest.RequireIdle: the pool is nil")
		return
	}
	var open, gone []string
	for backend, s := range pool.All() {
		if s.InFlight > 0 {
			open = append(open, fmt.Sprintf("%v: %d", backend, s.InFlight))
		}
	}
	for backend, s := range pool.Leaving() {
		gone = append(gone, fmt.Sprintf("%v (removed): %d", backend, s.InFlight))
	}
	slices.Sort(gone)
	if open = append(open, gone...); len(open) > 0 {
		t.Fatalf("lbtest: leases still open, by backend: %s; every Lease needs its Done or Release, every HTTP body its Close",
			strings.Join(open, ", "))
	}
}
