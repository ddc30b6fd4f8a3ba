package evenkeel_test

import (
	"container/heap"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

var errBroken = errors.New("broken")

// clock is a Config.Now that a test moves by hand.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newPool(t testing.TB, cfg evenkeel.Config, backends ...string) *evenkeel.Pool[string] {
	t.Helper()
	pool, err := evenkeel.NewPool(cfg, backends...)
	require.NoError(t, err)
	return pool
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = string(rune('A'+i%26)) + string(rune('a'+i/26))
	}
	return list
}

func stats(pool *evenkeel.Pool[string], backend string) evenkeel.Stats {
	for b, s := range pool.All() {
		if b == backend {
			return s
		}
	}
	return evenkeel.Stats{}
}

// call makes one call with the given outcome and returns the backend it went to.
func call(t testing.TB, lb evenkeel.Balancer[string], how func(backend string) error) string {
	t.Helper()
	lease, err := lb.Lease(context.Background())
	require.NoError(t, err)
	b := lease.Backend()
	lease.Done(how(b))
	return b
}

func fails(bad string) func(string) error {
	return func(b string) error {
		if b == bad {
			return errBroken
		}
		return nil
	}
}

func ok(string) error { return nil }

// failOn makes calls fail on one backend, through a balancer that only it is
// offered by, until n have.
func failOn(t testing.TB, pool *evenkeel.Pool[string], backend string, n int) {
	t.Helper()
	only := onto(pool, backend)
	for range n {
		lease, err := only.Lease(context.Background())
		require.NoError(t, err)
		require.Equal(t, backend, lease.Backend())
		lease.Done(errBroken)
	}
}

// onto returns a balancer that sends every call to one backend.
func onto(pool *evenkeel.Pool[string], backend string) evenkeel.Balancer[string] {
	return evenkeel.NewDispatcher(pool, nth{pool, backend})
}

// nth is a policy that always takes one backend.
type nth struct {
	pool    *evenkeel.Pool[string]
	backend string
}

func (p nth) Choose(v evenkeel.View) (int, evenkeel.Load) {
	i := 0
	for b, s := range p.pool.All() {
		if !s.Used {
			continue
		}
		if b == p.backend {
			return i, evenkeel.Load{}
		}
		i++
	}
	return 0, evenkeel.Load{}
}

// closedLoop is a virtual-time run of callers that each make one call after the
// other until the clock has moved by d. serve says how long a call takes and how
// it ends. It returns the calls and the failures of each backend.
func closedLoop(t testing.TB, c *clock, lb evenkeel.Balancer[string], callers int, d time.Duration,
	serve func(backend string, at time.Duration) (time.Duration, error)) (calls, failed map[string]int) {
	t.Helper()
	calls, failed = map[string]int{}, map[string]int{}
	start := c.Now()
	var running callHeap
	seq := 0
	begin := func() {
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		at := c.Now().Sub(start)
		b := lease.Backend()
		took, err := serve(b, at)
		calls[b]++
		if err != nil {
			failed[b]++
		}
		seq++
		heap.Push(&running, &runningCall{at + took, seq, func() { lease.Done(err) }})
	}
	for range callers {
		begin()
	}
	for {
		next := heap.Pop(&running).(*runningCall)
		c.Advance(next.at - c.Now().Sub(start))
		next.end()
		if next.at > d {
			break
		}
		begin()
	}
	for _, r := range running {
		r.end()
	}
	return calls, failed
}

type runningCall struct {
	at  time.Duration
	seq int
	end func()
}

type callHeap []*runningCall

func (h callHeap) Len() int { return len(h) }
func (h callHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h callHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *callHeap) Push(x any)   { *h = append(*h, x.(*runningCall)) }
func (h *callHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// comparing returns the balancers that compare loads, seeded.
func comparing(t testing.TB, pool *evenkeel.Pool[string], seed uint64) map[string]evenkeel.Balancer[string] {
	t.Helper()
	two, err := p2c.NewWith(pool, p2c.Config{Seed: seed})
	require.NoError(t, err)
	return map[string]evenkeel.Balancer[string]{"p2c": two, "sqf": must(sqf.NewWith(pool, sqf.Config{Seed: seed}))}
}

func allPolicies(t testing.TB, pool *evenkeel.Pool[string], seed uint64) map[string]evenkeel.Balancer[string] {
	t.Helper()
	all := comparing(t, pool, seed)
	all["roundrobin"] = must(roundrobin.NewWith(pool, roundrobin.Config{Seed: seed}))
	return all
}

// must is for constructors that cannot fail as they are called.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// each makes a signal that SetLoad takes of one that is given the backend.
func each[T comparable](load func(backend T, inFlight int) float64) func(T) func(int) float64 {
	return func(b T) func(int) float64 { return func(n int) float64 { return load(b, n) } }
}
