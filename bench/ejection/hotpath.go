package main

import (
	"context"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// hotPath returns the nanoseconds that a lease and its Done(nil) take with
// ejection off and on. The two take turns, and of the rounds the best counts, so
// that what else the machine does falls on neither.
func hotPath(rounds, calls int) (off, on float64, err error) {
	best := [2]float64{math.Inf(1), math.Inf(1)}
	var lbs [2]*p2c.Balancer[int]
	for i, isOff := range []bool{true, false} {
		pool, err := evenkeel.NewPool(evenkeel.Config{Ejection: evenkeel.Ejection{Off: isOff}}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		if err != nil {
			return 0, 0, err
		}
		lbs[i] = p2c.New(pool)
	}
	ctx := context.Background()
	for range rounds {
		for i, lb := range lbs {
			began := time.Now()
			for range calls {
				lease, err := lb.Lease(ctx)
				if err != nil {
					return 0, 0, err
				}
				lease.Done(nil)
			}
			best[i] = min(best[i], float64(time.Since(began))/float64(calls))
		}
	}
	return best[0], best[1], nil
}
