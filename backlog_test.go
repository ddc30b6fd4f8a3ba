package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// queue is a balancer over a limited pool, for tests that follow waiting calls in
// a bubble of virtual time.
type queue struct {
	t    *testing.T
	pool *evenkeel.Pool[string]
	lb   evenkeel.Balancer[string]
}

func newQueue(t *testing.T, cfg evenkeel.Config, backends ...string) *queue {
	t.Helper()
	pool := newPool(t, cfg, backends...)
	return &queue{t, pool, sqf.New(pool)}
}

// waiting is a Lease in a goroutine of its own.
type waiting struct {
	lease *evenkeel.Lease[string]
	err   error
	done  atomic.Bool
}

func (q *queue) start(ctx context.Context) *waiting {
	w := &waiting{}
	go func() {
		lease, err := q.lb.Lease(ctx)
		w.lease, w.err = &lease, err
		w.done.Store(true)
	}()
	synctest.Wait()
	return w
}

func (q *queue) fill(n int) (held []*waiting) {
	q.t.Helper()
	for range n {
		w := q.start(context.Background())
		require.True(q.t, w.done.Load())
		require.NoError(q.t, w.err)
		held = append(held, w)
	}
	return held
}

func (w *waiting) end() {
	w.lease.Release()
	synctest.Wait()
}

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 2, Backlog: 10}, "A", "B")
		held := q.fill(4)
		var line []*waiting
		for range 6 {
			line = append(line, q.start(t.Context()))
		}
		assert.Equal(t, 6, q.pool.Backlog().Waiting)
		for i := range 4 {
			held[i].end()
			assert.True(t, line[i].done.Load(), "the oldest is served")
			for _, w := range line[i+1:] {
				assert.False(t, w.done.Load(), "and nobody else: one release wakes one")
			}
			assert.Equal(t, held[i].lease.Backend(), line[i].lease.Backend(), "on the backend with room")
		}
		for _, w := range line {
			require.True(t, w.done.Load() || w == line[4] || w == line[5])
		}
		line[0].end()
		line[1].end()
		for _, w := range line[2:] {
			w.end()
		}
		for b, s := range q.pool.All() {
			assert.Zero(t, s.InFlight, b)
		}
		assert.Equal(t, evenkeel.BacklogStats{Served: 6}, q.pool.Backlog())
	})
}

func TestFullBacklogSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 2}, "A")
		held := q.fill(1)
		a, b := q.start(t.Context()), q.start(t.Context())
		c := q.start(t.Context())
		require.True(t, c.done.Load())
		require.ErrorIs(t, c.err, evenkeel.ErrOverloaded)
		var over *evenkeel.OverloadedError
		require.ErrorAs(t, c.err, &over)
		assert.Equal(t, 2, over.Waiting)
		assert.Equal(t, evenkeel.ShedFull, over.Reason)
		held[0].end()
		a.end()
		b.end()
		assert.Equal(t, evenkeel.BacklogStats{Served: 2, Shed: 1}, q.pool.Backlog())

		none := newQueue(t, evenkeel.Config{MaxInFlight: 1}, "A")
		one := none.fill(1)
		w := none.start(t.Context())
		require.ErrorIs(t, w.err, evenkeel.ErrOverloaded, "without a backlog nothing waits")
		one[0].end()
		none.fill(1)[0].end()
	})
}

// A waiter that gives up leaves at once, with its context's cause, and holds no
// place; one whose deadline has passed is given no backend.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errGone := errors.New("gone")
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 3}, "A")
		held := q.fill(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		a := q.start(ctx)
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		b := q.start(late)
		c := q.start(t.Context())
		cancel(errGone)
		synctest.Wait()
		require.True(t, a.done.Load())
		assert.Equal(t, errGone, a.err)
		assert.Equal(t, 2, q.pool.Backlog().Waiting)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, context.DeadlineExceeded, b.err)
		held[0].end()
		require.NoError(t, c.err)
		c.end()
		assert.Zero(t, q.pool.InFlight("A"))
		assert.Equal(t, evenkeel.BacklogStats{Served: 1, GaveUp: 2}, q.pool.Backlog())
	})
}

func TestOldestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 3}, "A")
		held := q.fill(1)
		a := q.start(t.Context())
		time.Sleep(3 * time.Second)
		b := q.start(t.Context())
		time.Sleep(time.Second)
		assert.Equal(t, 4*time.Second, q.pool.Backlog().OldestWait)
		held[0].end()
		assert.Equal(t, time.Second, q.pool.Backlog().OldestWait)
		a.end()
		b.end()
	})
}

func TestMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 3, MaxWait: 2 * time.Second}, "A")
		held := q.fill(1)
		a := q.start(t.Context())
		time.Sleep(2*time.Second - 1)
		synctest.Wait()
		assert.False(t, a.done.Load())
		time.Sleep(1)
		synctest.Wait()
		require.True(t, a.done.Load())
		var over *evenkeel.OverloadedError
		require.ErrorAs(t, a.err, &over)
		assert.Equal(t, evenkeel.ShedMaxWait, over.Reason)
		assert.Equal(t, 2*time.Second, over.Waited)
		held[0].end()
		q.fill(1)[0].end()
	})
}

// By a clock of the test's own no timer runs, but a call that has waited too long
// is given no place that is freed later.
func TestMaxWaitByOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 3, MaxWait: 2 * time.Second, Now: c.Now}, "A")
		held := q.fill(1)
		a := q.start(t.Context())
		c.Advance(time.Second)
		b := q.start(t.Context())
		c.Advance(time.Second)
		time.Sleep(time.Hour)
		assert.False(t, a.done.Load())
		held[0].end()
		require.ErrorIs(t, a.err, evenkeel.ErrOverloaded)
		require.True(t, b.done.Load())
		require.NoError(t, b.err)
		b.end()
	})
}

// Changes of the pool reach those who wait.
func TestChangesReachWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 10, SlowStart: evenkeel.SlowStart{Off: true}}, "A")
		held := q.fill(1)
		a, b, c := q.start(t.Context()), q.start(t.Context()), q.start(t.Context())

		require.NoError(t, q.pool.Replace("A", "B")) // a new one has room
		synctest.Wait()
		require.True(t, a.done.Load())
		assert.Equal(t, "B", a.lease.Backend())
		assert.False(t, b.done.Load())

		require.NoError(t, q.pool.SetWeight("B", 2)) // so has a heavier one
		synctest.Wait()
		require.True(t, b.done.Load())
		assert.Equal(t, "B", b.lease.Backend())

		require.NoError(t, q.pool.Eject("B"))
		b.end()
		a.end()
		assert.False(t, c.done.Load(), "an ejected one has no room")
		require.NoError(t, q.pool.Restore("B"))
		synctest.Wait()
		require.True(t, c.done.Load())
		assert.Equal(t, "B", c.lease.Backend())

		d, e := q.start(t.Context()), q.start(t.Context())
		require.True(t, d.done.Load())
		require.False(t, e.done.Load())
		require.NoError(t, q.pool.Replace()) // nobody is left to wait for
		synctest.Wait()
		require.True(t, e.done.Load())
		assert.ErrorIs(t, e.err, evenkeel.ErrNoBackends)
		for _, w := range []*waiting{held[0], c, d} {
			w.end()
		}
		assert.Zero(t, q.pool.Backlog().Waiting)
	})
}

// The end of an ejection wakes the oldest waiter, though nothing else happens.
func TestEndOfAnEjectionWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 10, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
		failOn(t, q.pool, "A", 5)
		held := q.fill(1)
		require.Equal(t, "B", held[0].lease.Backend())
		a := q.start(t.Context())
		b := q.start(t.Context())
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		assert.False(t, a.done.Load())
		time.Sleep(1)
		synctest.Wait()
		require.True(t, a.done.Load())
		assert.Equal(t, "A", a.lease.Backend(), "it is the trial")
		assert.False(t, b.done.Load())
		a.lease.Done(nil)
		synctest.Wait()
		require.True(t, b.done.Load())
		assert.Equal(t, "A", b.lease.Backend())
		b.end()
		held[0].end()
	})
}

// A trial is a place too: it goes to the oldest waiter, not to who comes next.
func TestTrialGoesToTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock() // its own, so that no timer wakes the waiter first
		q := newQueue(t, evenkeel.Config{MaxInFlight: 1, Backlog: 10, Now: c.Now}, "A", "B")
		failOn(t, q.pool, "A", 5)
		held := q.fill(1)
		a := q.start(t.Context())
		c.Advance(5 * time.Second)
		b := q.start(t.Context())
		require.True(t, a.done.Load())
		assert.Equal(t, "A", a.lease.Backend())
		assert.False(t, b.done.Load())
		held[0].end()
		require.True(t, b.done.Load())
		a.end()
		b.end()
	})
}

// A retry that must avoid some backends waits only for the others, and does not
// hold up those behind it.
func TestLeaseExceptWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 10}, "A", "B")
		lb := sqf.New(pool)
		q := &queue{t, pool, lb}
		held := q.fill(2)
		var retry waiting
		go func() {
			lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
			retry.lease, retry.err = &lease, err
			retry.done.Store(true)
		}()
		synctest.Wait()
		plain := q.start(t.Context())
		onA, onB := held[0], held[1]
		if onA.lease.Backend() != "A" {
			onA, onB = onB, onA
		}
		onA.end()
		assert.False(t, retry.done.Load())
		require.True(t, plain.done.Load(), "nobody waits while a place it can use is free")
		onB.end()
		require.True(t, retry.done.Load())
		assert.Equal(t, "B", retry.lease.Backend())
		_, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A", "B"}})
		require.ErrorIs(t, err, evenkeel.ErrNoBackends)
		assert.ErrorContains(t, err, "2 tried already")
		plain.end()
		retry.end()
	})
}

// goodput runs arrivals at a multiple of the capacity for a while, each with a
// time-out of 1 s, and returns the share of the capacity that was answered in time.
func goodput(t *testing.T, cfg evenkeel.Config, load float64) (share float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const (
			backends = 10
			service  = 10 * time.Millisecond
			warmup   = 3 * time.Second
		)
		length := 12 * time.Second
		if raceEnabled {
			length = 5 * time.Second
		}
		cfg.MaxInFlight, cfg.Backlog = 1, 5000
		pool := newPool(t, cfg, names(backends)...)
		lb := must(sqf.NewWith(pool, sqf.Config{Seed: 1}))
		rng := rand.New(rand.NewPCG(1, 2))
		capacity := backends / service.Seconds()
		var good atomic.Int64
		var wg sync.WaitGroup
		begin := time.Now()
		for time.Since(begin) < length {
			time.Sleep(time.Duration(rng.ExpFloat64() / (load * capacity) * float64(time.Second)))
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				err := evenkeel.Do(ctx, lb, func(ctx context.Context, _ string) error {
					time.Sleep(service)
					return ctx.Err()
				})
				if at := time.Since(begin); err == nil && at > warmup && at <= length {
					good.Add(1)
				}
			})
		}
		wg.Wait()
		share = float64(good.Load()) / (capacity * (length - warmup).Seconds())
	})
	return share
}

// Under lasting overload first come, first served serves only the stale. The two
// ways out keep the goodput within 10 % of the capacity.
func TestGoodputUnderOverload(t *testing.T) {
	stale := goodput(t, evenkeel.Config{}, 1.5)
	maxWait := goodput(t, evenkeel.Config{MaxWait: 500 * time.Millisecond}, 1.5)
	delay := goodput(t, evenkeel.Config{ControlledDelay: evenkeel.ControlledDelay{Target: 50 * time.Millisecond}}, 1.5)
	t.Logf("goodput at 1.5 times the capacity, in shares of it: neither %.3f, MaxWait 500 ms %.3f, ControlledDelay 50 ms %.3f", stale, maxWait, delay)
	assert.Less(t, stale, 0.5, "else this proves nothing")
	assert.Greater(t, maxWait, 0.9)
	assert.Greater(t, delay, 0.9)

	light := goodput(t, evenkeel.Config{ControlledDelay: evenkeel.ControlledDelay{Target: 50 * time.Millisecond}}, 0.8)
	assert.InDelta(t, 0.8, light, 0.03, "it does nothing where it is not needed")
}

// The limit is never exceeded, nobody waits while a place is free, and nothing is
// left, whatever happens at once.
func TestBacklogStress(t *testing.T) {
	const goroutines = 200
	leases := 300_000 / goroutines
	if raceEnabled {
		leases /= 25 // the race detector makes each cost that much more
	}
	for _, limit := range []int{1, 2, 3} {
		pool := newPool(t, evenkeel.Config{MaxInFlight: limit, Backlog: 150, SlowStart: evenkeel.SlowStart{Off: true}}, names(20)...)
		lbs := allPolicies(t, pool, 0)
		var inFlight [20]atomic.Int32
		index := map[string]int{}
		for i, b := range names(20) {
			index[b] = i
		}
		stop := make(chan struct{})
		var changes sync.WaitGroup
		changes.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				b := names(20)[i%20]
				assert.NoError(t, pool.Eject(b))
				runtime.Gosched()
				assert.NoError(t, pool.Restore(b))
				assert.NoError(t, pool.Replace(names(20)[i%5:]...))
				assert.NoError(t, pool.Replace(names(20)...))
			}
		})
		var wg sync.WaitGroup
		var served atomic.Int64
		for g := range goroutines {
			lb := lbs[[]string{"p2c", "sqf", "roundrobin"}[g%3]]
			wg.Go(func() {
				for k := range leases / 3 {
					ctx, cancel := context.WithCancel(context.Background())
					if k%17 == 0 {
						go cancel()
					}
					lease, err := lb.Lease(ctx)
					if err == nil {
						n := inFlight[index[lease.Backend()]].Add(1)
						assert.LessOrEqual(t, int(n), limit)
						if k%5 == 0 {
							runtime.Gosched()
						}
						inFlight[index[lease.Backend()]].Add(-1)
						if k%50 == 0 {
							lease.Done(errBroken)
						} else {
							lease.Done(nil)
						}
						served.Add(1)
					} else if !errors.Is(err, evenkeel.ErrOverloaded) && !errors.Is(err, context.Canceled) {
						assert.NoError(t, err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		close(stop)
		changes.Wait()
		assert.Positive(t, served.Load())
		for b, s := range pool.All() {
			assert.Zero(t, s.InFlight, b)
		}
		for b := range pool.Leaving() {
			assert.Fail(t, "a lease is left", b)
		}
		assert.Zero(t, pool.Backlog().Waiting)
	}
}

// A waiting call costs no goroutine of the library and little memory.
func TestWaitingIsCheap(t *testing.T) {
	const calls = 2000
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: calls}, "A")
	lb := sqf.New(pool)
	held, err := lb.Lease(context.Background())
	require.NoError(t, err)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range calls {
		wg.Go(func() {
			<-begin
			lease, err := lb.Lease(context.Background())
			if assert.NoError(t, err) {
				lease.Done(nil)
			}
		})
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	routines := runtime.NumGoroutine()
	close(begin)
	for pool.Backlog().Waiting < calls {
		runtime.Gosched()
	}
	runtime.ReadMemStats(&after)
	assert.LessOrEqual(t, runtime.NumGoroutine(), routines, "no goroutine of the library")
	if !raceEnabled {
		bytes := float64(after.TotalAlloc-before.TotalAlloc) / calls
		t.Logf("%.0f bytes a waiting call", bytes)
		assert.LessOrEqual(t, bytes, 210.0) // 200, and what the test itself allocates meanwhile
	}
	held.Release()
	wg.Wait()
}

// The example of the lighttpd document: three backends take one request at a time.
// A1 needs 10 s for the first; A2 and A3 need 2 s for theirs.
func ExampleConfig_backlog() {
	now := time.Unix(0, 0)
	pool, err := evenkeel.NewPool(evenkeel.Config{MaxInFlight: 1, Backlog: 10, Now: func() time.Time { return now }}, "A1", "A2", "A3")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := must(sqf.NewWith(pool, sqf.Config{Seed: 35})) // ties are broken in the order A1, A2, A3
	ctx := context.Background()

	open := map[string]*evenkeel.Lease[string]{}
	request := func(n int) {
		lease, err := lb.Lease(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%ds: request %d to %s\n", now.Unix(), n, lease.Backend())
		open[lease.Backend()] = &lease
	}
	request(1)
	request(2)
	request(3)
	now = time.Unix(2, 0)
	open["A2"].Done(nil)
	open["A3"].Done(nil)
	request(4)
	request(5)

	done := make(chan struct{})
	go func() { request(6); close(done) }()
	for pool.Backlog().Waiting == 0 {
		runtime.Gosched()
	}
	fmt.Printf("%ds: request 6 waits in the backlog\n", now.Unix())
	first := open["A2"]
	now = time.Unix(4, 0)
	first.Done(nil)
	<-done

	// Output:
	// 0s: request 1 to A1
	// 0s: request 2 to A2
	// 0s: request 3 to A3
	// 2s: request 4 to A2
	// 2s: request 5 to A3
	// 2s: request 6 waits in the backlog
	// 4s: request 6 to A2
}
