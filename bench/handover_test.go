package bench

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// BenchmarkHandOver lets eight goroutines take one place by turns: each yields
// while it holds the place, so that the others wait and every turn is handed over. In
// both forms that contains the scheduler's switch; the difference between the
// backlog and a buffered channel used as a semaphore is what the backlog costs.
func BenchmarkHandOver(b *testing.B) {
	b.Run("backlog", func(b *testing.B) {
		pool, err := evenkeel.NewPool(evenkeel.Config{MaxInFlight: 1, Backlog: 8}, "A")
		if err != nil {
			b.Fatal(err)
		}
		lb := sqf.New(pool)
		takeTurns(b, func() {
			lease, err := lb.Lease(context.Background())
			if err != nil {
				b.Error(err)
			}
			runtime.Gosched() // meanwhile the others come and wait
			lease.Release()
		})
		// Well below 1 this measures something else.
		b.ReportMetric(float64(pool.Backlog().Served)/float64(b.N), "handed-over")
	})
	b.Run("channel", func(b *testing.B) {
		sem := make(chan struct{}, 1)
		takeTurns(b, func() {
			sem <- struct{}{}
			runtime.Gosched()
			<-sem
		})
	})
}

func takeTurns(b *testing.B, turn func()) {
	b.ReportAllocs()
	const goroutines = 8
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range (b.N + g) / goroutines {
				turn()
			}
		})
	}
	wg.Wait()
}
