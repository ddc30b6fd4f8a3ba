package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/stretchr/testify/require"
)

// The slow-backend run: requests arrive at random moments at eight backends that
// each serve one at a time, in order of arrival; the last is five times slower.
const (
	backends    = 8
	slowness    = 5
	meanWork    = 10 * time.Millisecond
	arrivalRate = 500.0 // per second: 69 % of what the backends can serve
	requests    = 400
)

// outcome is what one run shows.
type outcome struct {
	p50, p99, max time.Duration
	slowShare     float64
}

// arrival is one request: when it comes, and the work that it brings.
type arrival struct{ at, work time.Duration }

// arrivals are the same for every policy.
func arrivals(seed uint64) []arrival {
	rng := rand.New(rand.NewPCG(seed, 0))
	list := make([]arrival, requests)
	var at time.Duration
	for i := range list {
		at += time.Duration(rng.ExpFloat64() / arrivalRate * float64(time.Second))
		list[i] = arrival{at, time.Duration(rng.ExpFloat64() * float64(meanWork))}
	}
	return list
}

// slowBackendRun sends the requests at their times and waits for all of them.
func slowBackendRun(tb testing.TB, newLB func(*evenkeel.Pool[string], uint64) *dispatcher, seed uint64) outcome {
	pool := newPool(tb, evenkeel.Config{}, backends)
	lb := newLB(pool, seed)
	turns := map[string]chan struct{}{}
	slow := ""
	for name := range pool.All() {
		turns[name] = make(chan struct{}, 1)
		slow = name
	}
	var (
		mu     sync.Mutex // guards what follows
		times  []time.Duration
		toSlow int
		fails  []error
	)
	call := func(work time.Duration) {
		began := time.Now()
		err := evenkeel.Do(tb.Context(), lb, func(_ context.Context, name string) error {
			if name == slow {
				work *= slowness
				mu.Lock()
				toSlow++
				mu.Unlock()
			}
			turns[name] <- struct{}{}
			time.Sleep(work)
			<-turns[name]
			return nil
		})
		took := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		times = append(times, took)
		if err != nil {
			fails = append(fails, err)
		}
	}
	var running sync.WaitGroup
	began := time.Now()
	for _, a := range arrivals(seed) {
		time.Sleep(a.at - time.Since(began)) // absolute times: delays do not add up
		running.Go(func() { call(a.work) })
	}
	running.Wait()
	require.Empty(tb, fails)
	requireInFlight(tb, pool, 0)
	slices.Sort(times)
	at := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))] }
	return outcome{at(0.5), at(0.99), times[len(times)-1], float64(toSlow) / requests}
}

// BenchmarkSlowBackend takes real time. Its figures are means over the runs; the
// time per operation is that of one run and says little.
func BenchmarkSlowBackend(b *testing.B) {
	for _, policy := range policies {
		b.Run(policy.name, func(b *testing.B) {
			var sum outcome
			for i := range b.N {
				o := slowBackendRun(b, policy.make, uint64(7+i))
				sum.p50 += o.p50
				sum.p99 += o.p99
				sum.max += o.max
				sum.slowShare += o.slowShare
			}
			mean := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(b.N) }
			b.ReportMetric(mean(sum.p50), "p50-ms")
			b.ReportMetric(mean(sum.p99), "p99-ms")
			b.ReportMetric(mean(sum.max), "max-ms")
			b.ReportMetric(sum.slowShare/float64(b.N), "slow-share")
		})
	}
}
