package bench

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// work does something so many times.
type work func(ctx context.Context, times int) error

// counter is padded so that it shares no cache line with another.
type counter struct {
	n atomic.Uint64
	_ [120]byte
}

// floor is the least that a counting balancer can do: check the context, draw 64
// random bits, read two counters, add one to one of them, and take it off again.
func floor(n int) work {
	counters := make([]counter, n)
	return func(ctx context.Context, times int) error {
		for range times {
			if err := ctx.Err(); err != nil {
				return err
			}
			hi, rest := bits.Mul64(rand.Uint64(), uint64(n))
			lo, _ := bits.Mul64(rest, uint64(n))
			c, other := &counters[hi], &counters[lo]
			if other.n.Load() < c.n.Load() {
				c = other
			}
			c.n.Add(1)
			c.n.Add(^uint64(0))
		}
		return nil
	}
}

// do does the work so many times in all, on one goroutine or on as many as there
// are processors, and returns how long that took.
func do(tb testing.TB, w work, parallel bool, times int) time.Duration {
	ctx := tb.Context()
	began := time.Now()
	if !parallel {
		err := w(ctx, times)
		took := time.Since(began)
		require.NoError(tb, err)
		return took
	}
	procs := runtime.GOMAXPROCS(0)
	errs := make([]error, procs)
	var running sync.WaitGroup
	for i := range procs {
		share := times / procs
		if i < times%procs {
			share++
		}
		running.Go(func() { errs[i] = w(ctx, share) })
	}
	running.Wait()
	took := time.Since(began)
	for _, err := range errs {
		require.NoError(tb, err)
	}
	return took
}

// floorCost is the nanoseconds that the floor takes each time: the median of a few runs.
func floorCost(tb testing.TB, n int, parallel bool) float64 {
	const runs, times = 5, 100_000
	w := floor(n)
	var took [runs]time.Duration
	for i := range took {
		took[i] = do(tb, w, parallel, times)
	}
	slices.Sort(took[:])
	return float64(took[runs/2]) / times
}

// measure is a benchmark of w over n backends, on one goroutine and in parallel,
// with the floor measured right after it.
func measure(b *testing.B, n int, w work) {
	for _, parallel := range []bool{false, true} {
		name := "serial"
		if parallel {
			name = "parallel"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.ResetTimer()
			took := do(b, w, parallel, b.N)
			b.StopTimer()
			b.ReportMetric(float64(took)/float64(b.N)/floorCost(b, n, parallel), "x-floor")
		})
	}
}
