package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// The things that are measured, each with the same shape: so many times in a row.
func picks(lb *dispatcher) work {
	return func(_ context.Context, times int) error {
		for range times {
			if _, err := lb.Pick(); err != nil {
				return err
			}
		}
		return nil
	}
}

func leasesReleased(lb *dispatcher) work {
	return func(ctx context.Context, times int) error {
		for range times {
			lease, err := lb.Lease(ctx)
			if err != nil {
				return err
			}
			lease.Release()
		}
		return nil
	}
}

func leasesDone(lb *dispatcher) work {
	return func(ctx context.Context, times int) error {
		for range times {
			lease, err := lb.Lease(ctx)
			if err != nil {
				return err
			}
			lease.Done(nil)
		}
		return nil
	}
}

func calls(lb *dispatcher) work {
	nothing := func(context.Context, string) error { return nil }
	return func(ctx context.Context, times int) error {
		for range times {
			if err := evenkeel.Do(ctx, lb, nothing); err != nil {
				return err
			}
		}
		return nil
	}
}

// eachPolicy runs the benchmark of one kind of work under every policy and for
// every number of backends, over idle pools.
func eachPolicy(b *testing.B, kind func(*dispatcher) work) {
	for _, policy := range policies {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/n=%d", policy.name, n), func(b *testing.B) {
				pool := newPool(b, evenkeel.Config{}, n)
				measure(b, n, kind(policy.make(pool, 0)))
				requireInFlight(b, pool, 0)
			})
		}
	}
}

func BenchmarkPick(b *testing.B)         { eachPolicy(b, picks) }
func BenchmarkLeaseRelease(b *testing.B) { eachPolicy(b, leasesReleased) }
func BenchmarkLeaseDone(b *testing.B)    { eachPolicy(b, leasesDone) }
func BenchmarkDo(b *testing.B)           { eachPolicy(b, calls) }

// BenchmarkFloor is what the others are compared with.
func BenchmarkFloor(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { measure(b, n, floor(n)) })
	}
}

// BenchmarkBusy is Lease and Release where every backend has two calls in flight:
// no scan finds an idle backend and stops there.
func BenchmarkBusy(b *testing.B) {
	for _, policy := range policies {
		if policy.name != "p2c" && policy.name != "sqf" {
			continue // they look at no load
		}
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/n=%d", policy.name, n), func(b *testing.B) {
				pool := newPool(b, evenkeel.Config{}, n)
				defer occupy(b, pool, 2)()
				measure(b, n, leasesReleased(policy.make(pool, 0)))
				requireInFlight(b, pool, 2)
			})
		}
	}
}

// occupy puts so many calls on every backend; the function it returns ends them.
func occupy(tb testing.TB, pool *evenkeel.Pool[string], each int) (release func()) {
	lb := policies[1].make(pool, 1) // by turns: the same for all
	leases := make([]evenkeel.Lease[string], each*pool.Len())
	for i := range leases {
		var err error
		if leases[i], err = lb.Lease(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	requireInFlight(tb, pool, each)
	return func() {
		for i := range leases {
			leases[i].Release()
		}
	}
}

// BenchmarkWeighted is Lease and Release where the weights differ, as they also
// do during a slow start.
func BenchmarkWeighted(b *testing.B) {
	const n = 100
	for _, policy := range policies {
		b.Run(policy.name, func(b *testing.B) {
			pool := newPool(b, evenkeel.Config{}, n)
			i := 0
			for backend := range pool.All() {
				if err := pool.SetWeight(backend, float64(1+i%3)); err != nil {
					b.Fatal(err)
				}
				i++
			}
			measure(b, n, leasesReleased(policy.make(pool, 0)))
		})
	}
}

// BenchmarkEjection is Lease and Done with ejection by outcome on, as by default,
// and off.
func BenchmarkEjection(b *testing.B) {
	const n = 100
	for _, off := range []bool{false, true} {
		name := "on"
		if off {
			name = "off"
		}
		b.Run(name, func(b *testing.B) {
			pool := newPool(b, evenkeel.Config{Ejection: evenkeel.Ejection{Off: off}}, n)
			measure(b, n, leasesDone(policies[2].make(pool, 0)))
		})
	}
}
