package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/sqf"
)

var errFull = errors.New("503: all places are taken")

// places is servers that hold so many calls each, need so long for one, and refuse at
// once what is beyond.
type places struct {
	most int
	work time.Duration
	ends map[string][]time.Duration
}

func (p *places) serve(b string, at time.Duration) (time.Duration, error) {
	if p.ends == nil {
		p.ends = map[string][]time.Duration{}
	}
	held := slices.DeleteFunc(p.ends[b], func(end time.Duration) bool { return end <= at })
	if len(held) >= p.most {
		p.ends[b] = held
		return time.Millisecond, errFull
	}
	p.ends[b] = append(held, at+p.work)
	return p.work, nil
}

// F178: a burst that no server can hold ejects nobody for it, and what comes after the
// burst is served whole.
func TestF178OverloadIsNoSickness(t *testing.T) {
	for name := range allPolicies(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, names(8)...)
			lb := allPolicies(t, pool, 3)[name]
			servers := &places{most: 16, work: 10 * time.Millisecond}
			closedLoop(t, c, lb, 200, 2*time.Second, servers.serve)
			servers.ends = nil
			closedLoop(t, c, lb, 90, 10*time.Second, servers.serve)
			assert.Zero(t, ejected(pool))
			servers.ends = nil
			calls, failed := closedLoop(t, c, lb, 90, 10*time.Second, servers.serve)
			assert.Zero(t, ejected(pool))
			if name != "roundrobin" { // which does not look
				assert.Less(t, float64(sum(failed)), 0.001*float64(sum(calls)), "%v of %v", failed, calls)
			}
		})
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// A steady overload costs no throughput beyond what is refused: nobody is taken out.
func TestF178SteadyOverload(t *testing.T) {
	for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		good := func(off bool) int {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1, Ejection: evenkeel.Ejection{Off: off}}, names(8)...)
			servers := &places{most: 16, work: 10 * time.Millisecond}
			calls, failed := closedLoop(t, c, comparing(t, pool, 3)[name], 120, 3*time.Second, servers.serve)
			assert.Zero(t, ejected(pool), name)
			return sum(calls) - sum(failed)
		}
		with, without := good(false), good(true)
		assert.Greater(t, float64(with), 0.99*float64(without), "%s: %d against %d without ejection", name, with, without)
	}
}

// F179: what all suffer, for however long, is over when it is over.
func TestF179SharedFaultsEndWithTheirCause(t *testing.T) {
	for _, share := range []float64{1, 0.5, 0.2, 0.1} {
		for _, long := range []time.Duration{30 * time.Second, 10 * time.Minute} {
			t.Run(fmt.Sprintf("%.0f %% for %v", 100*share, long), func(t *testing.T) {
				c := newClock()
				pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, names(10)...)
				lb := comparing(t, pool, 3)["p2c"]
				n := 0
				serve := func(fail bool) func(string, time.Duration) (time.Duration, error) {
					return func(string, time.Duration) (time.Duration, error) {
						n++
						if fail && float64(n*7919%1000) < share*1000 {
							return 20 * time.Millisecond, errBroken
						}
						return 20 * time.Millisecond, nil
					}
				}
				closedLoop(t, c, lb, 4, 30*time.Second, serve(false))
				closedLoop(t, c, lb, 4, long, serve(true))
				closedLoop(t, c, lb, 4, 5*time.Second, serve(false))
				for b, s := range pool.All() {
					assert.Equal(t, evenkeel.StateActive, s.State, b)
					assert.Zero(t, s.Ejections, b)
				}
			})
		}
	}
}

// An ejection that has helped nobody is taken back: a backend that failed first of all is
// no worse than the others that fail after it.
func TestEjectionThatHelpsNobodyIsTakenBack(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B", "C")
	lb := sqf.New(pool)
	for range 100 {
		c.Advance(10 * time.Millisecond)
		call(t, lb, ok)
	}
	failOn(t, pool, "A", 5)
	require.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
	for range 40 {
		c.Advance(10 * time.Millisecond)
		call(t, lb, func(string) error { return errBroken })
	}
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateActive, s.State, "and it is no newcomer")
	assert.InDelta(t, 1, s.Share, 1e-9)
}

// F181: a backend that accepts and never answers is out after a few deadlines, and its
// trials come farther and farther apart.
func TestF181HungBackend(t *testing.T) {
	for _, deadline := range []time.Duration{300 * time.Millisecond, 10 * time.Second} {
		for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
			t.Run(fmt.Sprint(name, " ", deadline), func(t *testing.T) {
				c := newClock()
				pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, "A", "B", "C")
				lb := comparing(t, pool, 3)[name]
				var out time.Duration
				failures, trials := 0, 0
				openLoop(t, c, lb, 300, 130*time.Second, func(b string) (time.Duration, evenkeel.Outcome) {
					if b == "A" {
						if out > 0 {
							trials++
						}
						return deadline, evenkeel.OutcomeDeadline
					}
					return 10 * time.Millisecond, evenkeel.OutcomeSuccess
				}, func(b string, at time.Duration) {
					if b == "A" && out == 0 {
						failures++
						if ejected(pool) > 0 {
							out = at
						}
					}
				})
				assert.Positive(t, out)
				assert.LessOrEqual(t, out, max(1500*time.Millisecond, deadline+2*time.Second))
				assert.LessOrEqual(t, failures, 15)
				assert.LessOrEqual(t, trials, 8)
				assert.ErrorContains(t, stats(pool, "A").Cause, "its trial did not end before the caller's deadline")
			})
		}
	}
}

// openLoop begins so many calls a second, whatever becomes of them, until the clock has
// moved by d; then it ends those that are open. ended is called after each end.
func openLoop(t testing.TB, c *clock, lb evenkeel.Balancer[string], rate int, d time.Duration,
	serve func(backend string) (time.Duration, evenkeel.Outcome), ended func(backend string, at time.Duration)) {
	t.Helper()
	start := c.Now()
	type open struct {
		at  time.Duration
		end func()
	}
	var running []open
	endUntil := func(at time.Duration) {
		for len(running) > 0 && running[0].at <= at {
			c.Advance(running[0].at - c.Now().Sub(start))
			next := running[0]
			running = running[1:]
			next.end()
		}
	}
	for i := range int(d.Seconds() * float64(rate)) {
		at := time.Duration(i) * time.Second / time.Duration(rate)
		endUntil(at)
		c.Advance(at - c.Now().Sub(start))
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		b := lease.Backend()
		took, outcome := serve(b)
		l := &lease
		o := open{at + took, func() {
			l.DoneAs(outcome, nil)
			ended(b, c.Now().Sub(start))
		}}
		k, _ := slices.BinarySearchFunc(running, o, func(a, b open) int {
			if a.at <= b.at {
				return -1
			}
			return 1
		})
		running = slices.Insert(running, k, o)
	}
	for _, o := range running {
		o.end()
	}
}

// F180: five failures beside a thousand streams that answer well are judged against them.
func TestF180FailuresBesideStreams(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	only := onto(pool, "A")
	var streams []*evenkeel.Lease[string]
	for range 1000 {
		lease, err := only.Lease(context.Background())
		require.NoError(t, err)
		lease.Answered()
		streams = append(streams, &lease)
	}
	failOn(t, pool, "A", 5)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	for _, s := range streams {
		s.Done(nil)
	}
}

// F180: streams of a minute: a backend that failed is back within seconds of its first
// good answer, and has its share while its streams run.
func TestF180LongCalls(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, "A", "B", "C")
	lb := must(p2c.NewWith(pool, p2c.Config{Seed: 3}))
	failOn(t, pool, "A", 5)
	got := map[string]int{}
	var open []*evenkeel.Lease[string]
	for i := range 10 * 60 {
		c.Advance(100 * time.Millisecond)
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		lease.Answered()
		got[lease.Backend()]++
		open = append(open, &lease)
		if i == 10*30 {
			assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
		}
	}
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	assert.Greater(t, got["A"], 120)
	for _, l := range open {
		l.Done(nil)
	}
}

// F184: when most of a pool is replaced at once, a member that stays carries at most
// twice its fair share.
func TestF184NobodyPaysForNewcomers(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, names(10)...)
	lb := comparing(t, pool, 3)["p2c"]
	serve := func(string, time.Duration) (time.Duration, error) { return 10 * time.Millisecond, nil }
	closedLoop(t, c, lb, 20, 30*time.Second, serve)
	next := []string{names(10)[0]}
	for i := range 9 {
		next = append(next, fmt.Sprint("new", i))
	}
	require.NoError(t, pool.Replace(next...))
	calls, _ := closedLoop(t, c, lb, 20, time.Second, serve)
	assert.Less(t, float64(calls[next[0]]), 2.2*float64(sum(calls))/10)
}

// F184: who took calls in a panic of the checks is no newcomer when they pass again.
func TestF184NoNewcomersAfterAPanic(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, names(4)...)
	c.Advance(time.Minute)
	for _, b := range names(4)[:3] {
		require.NoError(t, pool.SetHealth(b, errBroken))
	}
	closedLoop(t, c, comparing(t, pool, 3)["p2c"], 8, time.Minute, func(string, time.Duration) (time.Duration, error) {
		return 10 * time.Millisecond, nil
	})
	for _, b := range names(4)[:3] {
		assert.InDelta(t, 1, stats(pool, b).Share, 1e-9, "%s answers: it is used whole", b)
		require.NoError(t, pool.SetHealth(b, nil))
		c.Advance(time.Second)
	}
	for b, s := range pool.All() {
		assert.Equal(t, evenkeel.StateActive, s.State, b)
	}
}

// F198: with as many callers as places nobody is refused.
func TestF198RefusedOnlyWhenFull(t *testing.T) {
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1}, names(4)...)
	lb := sqf.New(pool)
	done := make(chan error, 4)
	for range 4 { // as many callers as places
		go func() {
			for range 20_000 {
				lease, err := lb.Lease(context.Background())
				if err != nil {
					done <- err
					return
				}
				lease.Done(nil)
			}
			done <- nil
		}()
	}
	for range 4 {
		assert.NoError(t, <-done)
	}
}
