package carp_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

// BenchmarkLease is a whole call with a key, its begin and its end: over an idle pool, where
// the first choice is taken at once; over a busy one, where the load of all is added up for
// the bound; and with weights.
func BenchmarkLease(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		for _, kind := range []string{"idle", "busy", "weighted"} {
			b.Run(fmt.Sprintf("%s/n=%d", kind, n), func(b *testing.B) {
				pool := newPool(b, plain, servers(n)...)
				lb := carp.New(pool)
				if kind == "weighted" {
					for i, backend := range servers(n) {
						require.NoError(b, pool.SetWeight(backend, float64(1+i%3)))
					}
				}
				if kind != "idle" {
					for i := range 5 * n {
						held := lease(b, lb, strconv.Itoa(i))
						defer held.Release()
					}
				}
				calls := make([]evenkeel.Call[string], 4096)
				for i := range calls {
					calls[i].Key = key(i)
				}
				ctx := context.Background()
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					l, err := lb.LeaseFor(ctx, calls[i%len(calls)])
					if err != nil {
						b.Fatal(err)
					}
					l.Release()
				}
			})
		}
	}
}
