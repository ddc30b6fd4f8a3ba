package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// F004: a lease ends once, by whichever comes first; the outcome told first
// stands.
func TestF004LeaseEndsOnce(t *testing.T) {
	ends := map[string]func(l *evenkeel.Lease[string]){
		"Done":    func(l *evenkeel.Lease[string]) { l.Done(errBroken) },
		"DoneAs":  func(l *evenkeel.Lease[string]) { l.DoneAs(evenkeel.OutcomeFailure, errBroken) },
		"Release": func(l *evenkeel.Lease[string]) { l.Release() },
	}
	for first, end := range ends {
		for second, again := range ends {
			pool := newPool(t, evenkeel.Config{}, "A")
			other := hold(t, pool, "A")
			lease := hold(t, pool, "A")
			end(&lease)
			want := uint64(0)
			if first != "Release" {
				want = 1
			}
			for range 3 {
				assert.Equal(t, 1, pool.InFlight("A"), "%s, then %s", first, second)
				assert.Equal(t, want, stats(pool, "A").Failures, "%s, then %s", first, second)
				assert.Equal(t, "A", lease.Backend(), "after the end too")
				again(&lease)
			}
			other.Release()
			lbtest.RequireIdle(t, pool)
		}
	}
}

// F004: ends from many goroutines at once are one.
func TestF004EndsFromManyGoroutines(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A")
	kept := hold(t, pool, "A")
	for range 200 {
		lease := hold(t, pool, "A")
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if i%2 == 0 {
					lease.Done(nil)
				} else {
					lease.Release()
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, pool.InFlight("A"))
	}
	kept.Release()
	lbtest.RequireIdle(t, pool)
}

func TestZeroLease(t *testing.T) {
	var lease evenkeel.Lease[string]
	assert.Empty(t, lease.Backend())
	lease.Done(nil)
	lease.Done(errBroken)
	lease.DoneAs(evenkeel.OutcomeFailure, errBroken)
	lease.Release()

	var other evenkeel.Lease[*int]
	assert.Nil(t, other.Backend())
	other.Release()
}

// DoneAs takes the caller's word, whatever the error or Config.Outcome would say.
func TestDoneAs(t *testing.T) {
	pool := newPool(t, evenkeel.Config{
		Outcome: func(context.Context, error) evenkeel.Outcome { panic("is not asked") },
	}, "A", "B")
	for outcome, failures := range map[evenkeel.Outcome]uint64{
		evenkeel.OutcomeSuccess:  0,
		evenkeel.OutcomeFailure:  1,
		evenkeel.OutcomeDeadline: 1,
		evenkeel.OutcomeNeutral:  0,
		evenkeel.Outcome(77):     1, // none of the constants: a failure
	} {
		before := stats(pool, "A").Failures
		lease := hold(t, pool, "A")
		lease.DoneAs(outcome, errBroken)
		assert.Equal(t, failures, stats(pool, "A").Failures-before, "%v", outcome)
		assert.Zero(t, pool.InFlight("A"))
	}
	lease := hold(t, pool, "A")
	lease.DoneAs(evenkeel.OutcomeFailure, nil)
	assert.EqualError(t, stats(pool, "A").LastError, "a call ended as failure")
	lbtest.RequireIdle(t, pool)
}

// What must not be nil, and is, is named.
func TestNilArguments(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A")
	var none context.Context
	nothing := func(context.Context, string) error { return nil }
	for name, lb := range everyPolicy(t, pool) {
		_, err := lb.Lease(none)
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, name)
		assert.ErrorContains(t, err, "the context is nil")
		assert.ErrorIs(t, evenkeel.Do(none, lb, nothing), evenkeel.ErrBadConfig, name)
		assert.ErrorIs(t, evenkeel.Do(t.Context(), lb, nil), evenkeel.ErrBadConfig, name)
	}
	_, err := p2c.New(pool).LeaseFor(none, evenkeel.Call[string]{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
	assert.ErrorIs(t, evenkeel.Do[string](t.Context(), nil, nothing), evenkeel.ErrBadConfig)

	noPool := evenkeel.NewDispatcher[string](nil, nth{})
	noPolicy := evenkeel.NewDispatcher(pool, nil)
	for name, d := range map[string]*evenkeel.Dispatcher[string]{"nil": nil, "zero": {}, "no pool": noPool, "no policy": noPolicy} {
		_, err := d.Pick()
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, name)
		_, err = d.Lease(t.Context())
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, name)
		_, err = d.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, name)
	}
	lbtest.RequireIdle(t, pool)
}

// Do gives back what the function did, whatever that is.
func TestDo(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	lb := sqf.New(pool)
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 7)
	err := evenkeel.Do(ctx, lb, func(ctx context.Context, backend string) error {
		assert.Equal(t, 7, ctx.Value(key{}))
		assert.Equal(t, 1, pool.InFlight(backend))
		return nil
	})
	require.NoError(t, err)

	err = evenkeel.Do(ctx, lb, func(context.Context, string) error { return errBroken })
	assert.Same(t, errBroken, err, "the error itself")
	failures := 0
	for _, s := range pool.All() {
		failures += int(s.Failures)
	}
	assert.Equal(t, 1, failures, "and it was told")

	assert.PanicsWithValue(t, "boom", func() {
		_ = evenkeel.Do(ctx, lb, func(context.Context, string) error { panic("boom") })
	})
	lbtest.RequireIdle(t, pool)

	var all sync.WaitGroup
	all.Go(func() {
		_ = evenkeel.Do(ctx, lb, func(context.Context, string) error { runtime.Goexit(); return nil })
	})
	all.Wait()
	lbtest.RequireIdle(t, pool)

	require.NoError(t, pool.Replace())
	err = evenkeel.Do(ctx, lb, func(context.Context, string) error { panic("is not called") })
	assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
}

// The errors of a pool that has nobody to give say why.
func TestNoBackendsSaysWhy(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	lb := p2c.New(pool)
	require.NoError(t, pool.Eject("A"))
	require.NoError(t, pool.Eject("B"))
	require.NoError(t, pool.SetWeight("C", 0))
	_, err := lb.Lease(t.Context())
	require.ErrorIs(t, err, evenkeel.ErrNoBackends)
	assert.EqualError(t, err, "evenkeel: no backend is available: of 3 members, 2 ejected by hand (Restore brings them back), 1 drained (weight 0; SetWeight changes it)")
	var none *evenkeel.NoBackendsError
	require.ErrorAs(t, err, &none)
	assert.Equal(t, evenkeel.NoBackendsError{Members: 3, EjectedByHand: 2, Drained: 1}, *none)

	require.NoError(t, pool.Restore("A"))
	_, err = lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
	require.ErrorAs(t, err, &none)
	assert.Equal(t, evenkeel.NoBackendsError{Members: 3, EjectedByHand: 1, Drained: 1, Avoided: 1}, *none)
	lbtest.RequireIdle(t, pool)
}

// A pick that goes wrong in the policy or in the load signal counts nothing.
func TestPanicOfAPolicyCountsNothing(t *testing.T) {
	for _, cfg := range []evenkeel.Config{{}, {MaxInFlight: 1}} {
		pool := newPool(t, cfg, "A", "B")
		wild := evenkeel.NewDispatcher(pool, choice(func(v evenkeel.View) int { return v.Len() }))
		assert.Panics(t, func() { _, _ = wild.Pick() })
		assert.Panics(t, func() { _, _ = wild.Lease(t.Context()) })
		pool.SetLoad(each(func(string, int) float64 { panic("no figure") }))
		assert.PanicsWithValue(t, "no figure", func() { _, _ = sqf.New(pool).Lease(t.Context()) })
		pool.SetLoad(nil)
		lbtest.RequireIdle(t, pool)
		call(t, sqf.New(pool), ok)
	}
}

type choice func(v evenkeel.View) int

func (f choice) Choose(v evenkeel.View) (int, evenkeel.Load) { return f(v), evenkeel.Load{} }

// F001: dials that are refused leave no count, nor does a removal in mid-call, and
// afterwards the two backends are alike.
func TestF001RefusedDialsAndRemoval(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}}, "A", "B")
	lb := must(sqf.NewWith(pool, sqf.Config{Seed: 1}))
	for range 100 {
		call(t, lb, fails("A"))
		require.Equal(t, map[string]int{"A": 0, "B": 0}, counts(pool))
	}
	held := hold(t, pool, "B")
	require.NoError(t, pool.Replace("A"))
	assert.Equal(t, 1, pool.InFlight("B"))
	require.NoError(t, pool.Replace("A", "B"))
	assert.Equal(t, 1, pool.InFlight("B"))
	held.Done(errBroken)
	require.Equal(t, map[string]int{"A": 0, "B": 0}, counts(pool))
	for range 20 { // what is still on the books is paid off
		call(t, lb, ok)
	}
	hits := 0
	for range 1000 {
		if call(t, lb, ok) == "A" {
			hits++
		}
	}
	assert.InDelta(t, 500, hits, 80)
	lbtest.RequireIdle(t, pool)
}

// F006: a call that is given up between the pick and its start counts neither in
// flight nor for or against the backend.
func TestF006AbandonedPick(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	for name, lb := range everyPolicy(t, pool) {
		for i := range 1000 {
			ctx, cancel := context.WithCancel(t.Context())
			lease, err := lb.Lease(ctx)
			require.NoError(t, err)
			cancel()
			if i%2 == 0 {
				lease.Done(ctx.Err())
			}
			lease.Release()
		}
		for b, s := range pool.All() {
			assert.Zero(t, s.InFlight, name)
			assert.Zero(t, s.Failures, name)
			assert.Equal(t, evenkeel.StateActive, s.State, "%s: %s", name, b)
		}
	}
}

// F007 is about HTTP bodies: a test of package lbhttp.

// F011, decision 12: each try has its own lease, on a backend not tried yet, and
// the one before has ended.
func TestF011RetriesOnOthers(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}}, "A", "B", "C")
	lbs := []*evenkeel.Dispatcher[string]{p2c.New(pool), sqf.New(pool), roundrobin.New(pool), random.New(pool)}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			var tried []string
			for try := range 3 {
				lease, err := lbs[i%4].LeaseFor(context.Background(), evenkeel.Call[string]{Avoid: tried})
				if !assert.NoError(t, err) {
					return
				}
				b := lease.Backend()
				assert.NotContains(t, tried, b, "try %d", try)
				tried = append(tried, b)
				if b == "C" {
					lease.Done(nil)
					break
				}
				lease.Done(errBroken)
			}
			assert.Contains(t, tried, "C")
			if len(tried) == 3 {
				_, err := lbs[i%4].LeaseFor(context.Background(), evenkeel.Call[string]{Avoid: tried})
				assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
			}
		})
	}
	all.Wait()
	lbtest.RequireIdle(t, pool)
}

// F012: with nothing but defaults the count is what policies go by: of a slow and
// a fast backend the fast one gets nearly all calls.
func TestF012CountsByDefault(t *testing.T) {
	for _, name := range []string{"p2c", "sqf"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := newPool(t, evenkeel.Config{}, "slow", "fast")
				lb := comparing(t, pool, 1)[name]
				var slow, fast, seen atomic.Int64
				deadline := time.Now().Add(5 * time.Second)
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						for time.Now().Before(deadline) {
							_ = evenkeel.Do(context.Background(), lb, func(_ context.Context, b string) error {
								seen.Store(max(seen.Load(), int64(pool.InFlight("slow"))))
								if b == "slow" {
									slow.Add(1)
									time.Sleep(time.Second)
								} else {
									fast.Add(1)
									time.Sleep(time.Millisecond)
								}
								return nil
							})
						}
					})
				}
				all.Wait()
				assert.Positive(t, seen.Load())
				assert.Less(t, slow.Load()*100, fast.Load())
				lbtest.RequireIdle(t, pool)
			})
		})
	}
}

// Decision 3: calls that start at once spread as a queue would have them. A pick
// that finds its choice taken looks again: sqf, like round robin, gives each of 64
// idle backends exactly one of 64 calls; with p2c nobody gets 5.
func TestCallsThatStartAtOnce(t *testing.T) {
	const n, rounds = 64, 100
	for _, name := range []string{"p2c", "sqf", "roundrobin"} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, evenkeel.Config{}, names(n)...)
			lb := everyPolicy(t, pool)[name]
			for range rounds {
				var leases [n]evenkeel.Lease[string]
				start := make(chan struct{})
				var all sync.WaitGroup
				for i := range n {
					all.Go(func() {
						<-start
						var err error
						leases[i], err = lb.Lease(context.Background())
						assert.NoError(t, err)
					})
				}
				close(start)
				all.Wait()
				open := 0
				for b, c := range counts(pool) {
					if name == "roundrobin" { // the others may lose one race after another
						assert.Equal(t, 1, c, b)
					}
					open += c
				}
				assert.Equal(t, n, open)
				for i := range leases {
					leases[i].Release()
				}
			}
			lbtest.RequireIdle(t, pool)
		})
	}
}

// raced is a policy whose choice is taken by another call before it can be counted, so
// many times.
type raced struct {
	evenkeel.Policy
	times int
	take  func(index int)
}

func (r *raced) Choose(v evenkeel.View) (int, evenkeel.Load) {
	i, seen := r.Policy.Choose(v)
	if r.times > 0 {
		r.times--
		r.take(i)
	}
	return i, seen
}

// A pick that loses a race looks again, so that calls which start at once spread as if they
// had come one after the other; after a bounded number of races it takes what it has.
func TestLostRaces(t *testing.T) {
	for _, times := range []int{1, 3, 7, 100} {
		pool := newPool(t, evenkeel.Config{}, names(10)...)
		r := &raced{Policy: sqf.Policy{}, times: times}
		r.take = func(i int) {
			lease := hold(t, pool, names(10)[i])
			t.Cleanup(lease.Release)
		}
		lease, err := evenkeel.NewSeededDispatcher(pool, r, 1).Lease(t.Context())
		require.NoError(t, err)
		if times < 8 {
			assert.Equal(t, 1, pool.InFlight(lease.Backend()), "it went where nobody else did")
			assert.Zero(t, r.times)
		} else {
			assert.Positive(t, r.times, "it did not look for ever")
		}
		lease.Release()
	}
}

// F159: every policy draws from many goroutines.
func TestF159PicksFromManyGoroutines(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, names(10)...)
	for name, lb := range everyPolicy(t, pool) {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for range 1000 {
					if _, err := lb.Pick(); err != nil {
						t.Error(name, err)
					}
				}
			})
		}
		all.Wait()
	}
}

// F026: unseeded balancers differ from process to process. The test runs itself
// fifty times and compares the first picks.
func TestF026ProcessesDiffer(t *testing.T) {
	const child = "EVENKEEL_TEST_F026"
	if os.Getenv(child) != "" {
		pool := newPool(t, evenkeel.Config{}, names(10)...)
		for _, lb := range []evenkeel.Balancer[string]{p2c.New(pool), sqf.New(pool), roundrobin.New(pool), random.New(pool)} {
			b, err := lb.Pick()
			require.NoError(t, err)
			fmt.Println("first:", b)
		}
		return
	}
	children, different := 50, 5 // as good as certain
	if raceEnabled {
		children, different = 20, 2 // they take long to start
	}
	first := [4]map[string]bool{{}, {}, {}, {}}
	for range children {
		cmd := exec.Command(os.Args[0], "-test.run=^TestF026ProcessesDiffer$", "-test.count=1")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.Output()
		require.NoError(t, err, "%s", out)
		i := 0
		for line := range strings.Lines(string(out)) {
			if b, found := strings.CutPrefix(strings.TrimSpace(line), "first: "); found {
				first[i][b] = true
				i++
			}
		}
		require.Equal(t, 4, i, "%s", out)
	}
	for i, name := range []string{"p2c", "sqf", "roundrobin", "random"} {
		assert.GreaterOrEqual(t, len(first[i]), different, name)
	}
}

// A call whose context has ended is refused with the cause, before anything else.
func TestDeadContext(t *testing.T) {
	pool := newPool(t, evenkeel.Config{})
	cause := errors.New("no more of this")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for name, lb := range everyPolicy(t, pool) {
		_, err := lb.Lease(ctx)
		assert.Same(t, cause, err, name)
	}
	_, err := p2c.New(pool).LeaseFor(ctx, evenkeel.Call[string]{Avoid: []string{"A"}})
	assert.Same(t, cause, err)
}

// A backend that is taken out while a pick looks at it is not leased: the pick
// looks again, and no count stays behind.
func TestTakenOutWhileAPickLooks(t *testing.T) {
	for name, takeOut := range map[string]func(pool *evenkeel.Pool[string]) error{
		"Eject":   func(pool *evenkeel.Pool[string]) error { return pool.Eject("A") },
		"Drain":   func(pool *evenkeel.Pool[string]) error { return pool.SetWeight("A", 0) },
		"Replace": func(pool *evenkeel.Pool[string]) error { return pool.Replace("B") },
	} {
		for _, cfg := range []evenkeel.Config{{}, {MaxInFlight: 1}, {MaxInFlight: 1, Backlog: 1}} {
			for _, retry := range []bool{false, true} {
				pool := newPool(t, cfg, "A", "B", "C")
				looks := 0
				d := evenkeel.NewDispatcher(pool, choice(func(evenkeel.View) int {
					if looks++; looks == 1 {
						assert.NoError(t, takeOut(pool))
					}
					return 0 // A at the first look, then B
				}))
				place := d.Lease
				if retry {
					place = func(ctx context.Context) (evenkeel.Lease[string], error) {
						return d.LeaseFor(ctx, evenkeel.Call[string]{Avoid: []string{"C"}})
					}
				}
				lease, err := place(t.Context())
				require.NoError(t, err)
				assert.Equal(t, "B", lease.Backend(), name)
				assert.Zero(t, pool.InFlight("A"), name)
				if cfg.MaxInFlight == 0 { // else only B has room, and nothing is left to choose
					assert.Equal(t, 2, looks, name)
				}
				lease.Release()
				lbtest.RequireIdle(t, pool)
			}
		}
	}
}
