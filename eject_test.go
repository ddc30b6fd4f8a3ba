package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// exact is an Ejection without jitter, for tests that compare times.
func exact(e evenkeel.Ejection) evenkeel.Ejection {
	e.Jitter = -1
	return e
}

func ejected(pool *evenkeel.Pool[string]) (n int) {
	for _, s := range pool.All() {
		if s.State == evenkeel.StateEjectedByOutcome || s.State == evenkeel.StateOnTrial {
			n++
		}
	}
	return n
}

// trial waits for an ejection to end and makes the trial call.
func trial(t *testing.T, c *clock, pool *evenkeel.Pool[string], backend string, err error) {
	t.Helper()
	if s := stats(pool, backend); s.State == evenkeel.StateEjectedByOutcome {
		c.Advance(s.Until.Sub(c.Now()))
	}
	require.Equal(t, evenkeel.StateOnTrial, stats(pool, backend).State)
	lease, lerr := sqf.New(pool).Lease(context.Background())
	require.NoError(t, lerr)
	require.Equal(t, backend, lease.Backend(), "the next lease is the trial")
	lease.Done(err)
}

func TestConsecutiveFailuresEject(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
	failOn(t, pool, "A", 4)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 1)
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateEjectedByOutcome, s.State)
	assert.Equal(t, c.Now().Add(5*time.Second), s.Until)
	assert.ErrorIs(t, s.Cause, errBroken, "the cause carries the last error")
	assert.Contains(t, s.Cause.Error(), "5 failures in a row")
	assert.EqualValues(t, 5, s.Failures)
	assert.Equal(t, 1, s.Ejections)
	assert.False(t, s.Used)
	for range 50 {
		assert.Equal(t, "B", call(t, p2c.New(pool), ok))
	}
}

func TestEjectionOff(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: ejectionOff}, "A", "B")
	failOn(t, pool, "A", 100)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	require.NoError(t, pool.Eject("A"))
	assert.Equal(t, evenkeel.StateEjectedByHand, stats(pool, "A").State, "by hand it still works")
}

// F052, F054: the cap is tested after the ejection that would be made, and
// rounded down; the last usable one stays.
func TestF052F054MaxEjected(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for percent := 5; percent <= 100; percent += 5 {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{MaxEjected: float64(percent) / 100}}, names(n)...)
			for _, b := range names(n) { // one after the other: else none is worse than the rest
				if stats(pool, b).Used {
					failOn(t, pool, b, 5)
				}
				most := n * percent / 100
				require.LessOrEqual(t, ejected(pool), most, "n=%d cap=%d %%", n, percent)
				require.Less(t, ejected(pool), n, "the last one stays in")
			}
			assert.Equal(t, min(n*percent/100, n-1), ejected(pool), "n=%d cap=%d %%", n, percent)
		}
	}
}

// F056: check and ejection are one step, with all backends failing at once.
func TestF056CapHoldsUnderRaces(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{MaxEjected: 0.75}}, names(8)...)
	for _, b := range names(8) { // each while the others do not fail
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				lease, err := onto(pool, b).Lease(context.Background())
				if !assert.NoError(t, err) {
					return
				}
				lease.Done(errBroken)
				assert.LessOrEqual(t, ejected(pool), 6)
			})
		}
		wg.Wait()
	}
	assert.Equal(t, 6, ejected(pool))
}

// F057: what is drained or ejected by hand is not counted as a member that could
// take over.
func TestF057OnlyUsableOnesCount(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{MaxEjected: 1}}, "A", "B", "C")
	require.NoError(t, pool.SetWeight("B", 0))
	require.NoError(t, pool.Eject("C"))
	failOn(t, pool, "A", 50)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	assert.Equal(t, "A", call(t, p2c.New(pool), ok))
}

// The cap holds for the pool as it is: when it shrinks, those whose time is up
// first are used again, without being healed.
func TestCapHoldsWhenThePoolShrinks(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	failOn(t, pool, "A", 5)
	require.NoError(t, pool.Replace("A"))
	s := stats(pool, "A")
	assert.True(t, s.Used, "the only one left")
	assert.Equal(t, evenkeel.StateEjectedByOutcome, s.State)
	assert.Equal(t, "A", call(t, sqf.New(pool), ok))
	require.NoError(t, pool.Replace("A", "B"))
	assert.False(t, stats(pool, "A").Used, "a blip heals nobody")
	require.NoError(t, pool.Eject("B"))
	assert.Equal(t, "A", call(t, sqf.New(pool), ok), "it was ejected by outcome, not by hand")
}

// F059: a single backend never locks itself out; of two, one comes back by itself.
func TestF059NoLatch(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A")
	failOn(t, pool, "A", 100)
	assert.Equal(t, "A", call(t, p2c.New(pool), ok))
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B"))
	failOn(t, pool, "B", 5)
	trial(t, c, pool, "B", nil)
	assert.True(t, stats(pool, "B").Used)
}

// F061: a backend that is still bad is ejected again and again.
func TestF061EjectedAgain(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true},
		Ejection: exact(evenkeel.Ejection{Consecutive: 3, Base: 10 * time.Second})}, "A", "B")
	for k := 1; k <= 3; k++ {
		failOn(t, pool, "A", 3)
		assert.Equal(t, k, stats(pool, "A").Ejections)
		trial(t, c, pool, "A", nil)
		failOn(t, pool, "A", 2)
		assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State, "the count starts at 0 on return")
		call(t, onto(pool, "A"), ok)
	}
}

// F062: results of leases begun before the ejection, or before the return, are of
// another time.
func TestF062LateResults(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true}, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
	only := onto(pool, "A")
	end := openLeases(t, only, 20)
	for _, done := range end[:5] {
		done(errBroken)
	}
	require.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
	for _, done := range end[5:12] {
		done(errBroken) // during the ejection
	}
	trial(t, c, pool, "A", nil)
	for _, done := range end[12:] {
		done(errBroken) // after the return
	}
	require.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 4)
	require.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 1)
	assert.Equal(t, 2, stats(pool, "A").Ejections)
}

func openLeases(t *testing.T, lb evenkeel.Balancer[string], n int) []func(error) {
	t.Helper()
	var end []func(error)
	for range n {
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		end = append(end, lease.Done)
	}
	return end
}

// F064, F066, F067: the length rises by one Base for each relapse up to Max, and
// falls back with health.
func TestF064F066F067Length(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true},
		Ejection: exact(evenkeel.Ejection{Base: 2 * time.Second, Max: 7 * time.Second})}, "A", "B")
	failOn(t, pool, "A", 5)
	var lengths []time.Duration
	for range 10 {
		lengths = append(lengths, stats(pool, "A").Until.Sub(c.Now()))
		trial(t, c, pool, "A", errBroken)
	}
	s := time.Second
	assert.Equal(t, []time.Duration{2 * s, 4 * s, 6 * s, 7 * s, 7 * s, 7 * s, 7 * s, 7 * s, 7 * s, 7 * s}, lengths)

	trial(t, c, pool, "A", nil)
	c.Advance(2 * 6 * 2 * time.Second) // two good stretches: two levels down, one up
	failOn(t, pool, "A", 5)
	assert.Equal(t, 6*time.Second, stats(pool, "A").Until.Sub(c.Now()))
	trial(t, c, pool, "A", nil)
	c.Advance(4 * 6 * 2 * time.Second) // ceil(7/2) = 4 steps to the bottom
	failOn(t, pool, "A", 5)
	assert.Equal(t, 2*time.Second, stats(pool, "A").Until.Sub(c.Now()))
}

func TestF064LengthNeverOverflows(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{Base: 30 * time.Second, Max: math.MaxInt64})}, "A", "B")
	failOn(t, pool, "A", 5)
	for range 2000 {
		until := stats(pool, "A").Until
		require.True(t, until.After(c.Now()))
		trial(t, c, pool, "A", errBroken)
	}
	trial(t, c, pool, "A", nil)
	c.Advance(1000 * time.Hour)
	failOn(t, pool, "A", 5)
	assert.LessOrEqual(t, stats(pool, "A").Until.Sub(c.Now()), 30*time.Second)
}

// Ejection times are spread by jitter, and never longer than without.
func TestJitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for seed := uint64(1); seed <= 20; seed++ {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: seed}, "A", "B")
		failOn(t, pool, "A", 5)
		d := stats(pool, "A").Until.Sub(c.Now())
		assert.LessOrEqual(t, d, 5*time.Second)
		assert.GreaterOrEqual(t, d, 4500*time.Millisecond)
		seen[d] = true
	}
	assert.Len(t, seen, 20)
}

// F066: the failure-rate rule's ejections grow as well.
func TestF066RateRuleGrows(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true},
		Ejection: exact(evenkeel.Ejection{Consecutive: -1})}, "A", "B", "C")
	var lengths []time.Duration
	lb := roundrobin.New(pool)
	for range 4 {
		for stats(pool, "A").State == evenkeel.StateActive {
			call(t, lb, fails("A"))
			c.Advance(10 * time.Millisecond)
		}
		lengths = append(lengths, stats(pool, "A").Until.Sub(c.Now().Add(-10*time.Millisecond)))
		trial(t, c, pool, "A", nil)
	}
	s := time.Second
	assert.Equal(t, []time.Duration{5 * s, 10 * s, 15 * s, 20 * s}, lengths)
}

// F069: a good health check does not end an ejection by outcome.
func TestF069HealthDoesNotUndoOutcomes(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{Base: time.Minute})}, "A", "B")
	lb := sqf.New(pool)
	for range 600 {
		c.Advance(time.Second)
		require.NoError(t, pool.SetHealth("A", nil))
		for range 10 {
			call(t, lb, fails("A"))
		}
	}
	assert.LessOrEqual(t, stats(pool, "A").Ejections, 10)
	assert.LessOrEqual(t, stats(pool, "A").Failures, uint64(5+10))
}

// F071: results are ordered by when their calls began.
func TestF071OutOfOrder(t *testing.T) {
	cfg := evenkeel.Config{Ejection: exact(evenkeel.Ejection{Consecutive: 3, Window: -1})}
	pool := newPool(t, cfg, "A", "B")
	only := onto(pool, "A")
	slow := openLeases(t, only, 1)[0]
	failOn(t, pool, "A", 2)
	slow(nil) // an old success wipes nothing
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)

	pool = newPool(t, cfg, "A", "B")
	only = onto(pool, "A")
	old := openLeases(t, only, 3)
	call(t, only, ok)
	for _, done := range old {
		done(errBroken) // an old failure does not count after a newer success
	}
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 2)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
}

// F072, F076: a trial without a verdict is given again after TrialTimeout, and
// what comes of the old one then changes nothing.
func TestF072F076TrialThatNeverEnds(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	lb := sqf.New(pool)
	failOn(t, pool, "A", 5)
	c.Advance(5 * time.Second)
	first, err := lb.Lease(context.Background())
	require.NoError(t, err)
	require.Equal(t, "A", first.Backend())
	for range 20 {
		assert.Equal(t, "B", call(t, lb, ok), "one trial at a time")
	}
	c.Advance(29 * time.Second)
	assert.Equal(t, evenkeel.StateOnTrial, stats(pool, "A").State)
	c.Advance(time.Second)
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "A").State, "no failure for so long counts for it: a lost trial locks nobody out")
	first.Done(errBroken)
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "A").State, "the old trial changes nothing")
	assert.Zero(t, pool.InFlight("A"))
}

// A trial that is cancelled, released or panics says nothing: it is given again.
func TestTrialWithoutAVerdict(t *testing.T) {
	ends := map[string]func(l *evenkeel.Lease[string], cancel func()){
		"cancel":  func(l *evenkeel.Lease[string], cancel func()) { cancel(); l.Done(context.Canceled) },
		"release": func(l *evenkeel.Lease[string], _ func()) { l.Release() },
		"panic": func(l *evenkeel.Lease[string], _ func()) {
			defer func() { _ = recover() }()
			defer l.Release()
			panic("in the call")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
			failOn(t, pool, "A", 5)
			c.Advance(5 * time.Second)
			for range 3 {
				ctx, cancel := context.WithCancel(context.Background())
				lease, err := sqf.New(pool).Lease(ctx)
				require.NoError(t, err)
				require.Equal(t, "A", lease.Backend())
				end(&lease, cancel)
				cancel()
			}
			trial(t, c, pool, "A", nil)
			assert.True(t, stats(pool, "A").Used)
		})
	}
}

// F181: a trial that outlasts its caller's deadline is a relapse: the next one comes later.
func TestTrialThatHangs(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
	failOn(t, pool, "A", 5)
	c.Advance(5 * time.Second)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now())
	defer cancel()
	lease, err := sqf.New(pool).Lease(context.Background())
	require.NoError(t, err)
	require.Equal(t, "A", lease.Backend())
	lease.DoneAs(evenkeel.DefaultOutcome(ctx, errBroken), errBroken)
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateEjectedByOutcome, s.State)
	assert.Equal(t, 10*time.Second, s.Until.Sub(c.Now()))
	assert.Equal(t, 2, s.Ejections)
	assert.ErrorContains(t, s.Cause, "its trial did not end before the caller's deadline")
}

// F074, F087: at the moment the time is up 100 callers arrive: one is the trial.
func TestF074F087OneTrial(t *testing.T) {
	for range 20 {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
		failOn(t, pool, "A", 5)
		c.Advance(5 * time.Second)
		lb := sqf.New(pool)
		var mu sync.Mutex
		got := map[string]int{}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				lease, err := lb.Lease(context.Background())
				if assert.NoError(t, err) {
					mu.Lock()
					got[lease.Backend()]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		assert.Equal(t, 1, got["A"])
		assert.Equal(t, 99, got["B"])
	}
}

// F077: the rule: one trial; a success lets in, a failure ejects for longer.
func TestF077TrialRule(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
	failOn(t, pool, "A", 5)
	trial(t, c, pool, "A", errBroken)
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateEjectedByOutcome, s.State)
	assert.Equal(t, 10*time.Second, s.Until.Sub(c.Now()))
	assert.ErrorContains(t, s.Cause, "failed its trial")
	trial(t, c, pool, "A", nil)
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "A").State)
}

// F081: weight survives an ejection.
func TestF081WeightSurvives(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B")
	require.NoError(t, pool.SetWeight("A", 10))
	failOn(t, pool, "A", 5)
	trial(t, c, pool, "A", nil)
	got := map[string]int{}
	lb := roundrobin.New(pool)
	for range 1100 {
		got[call(t, lb, ok)]++
	}
	assert.Equal(t, map[string]int{"A": 1000, "B": 100}, got)
}

// F082: weight 0 stays without calls whatever health checks and trials say.
func TestF082DrainedStaysDrained(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B", "C")
	failOn(t, pool, "A", 5)
	require.NoError(t, pool.SetWeight("A", 0))
	c.Advance(time.Minute)
	for _, found := range []error{nil, nil, errBroken, nil} {
		require.NoError(t, pool.SetHealth("A", found))
		for range 100 {
			assert.NotEqual(t, "A", call(t, p2c.New(pool), ok))
		}
	}
}

// F086: one odd call takes nobody out.
func TestF086OneOddCall(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A")
	failOn(t, pool, "A", 1)
	for range 100 {
		assert.Equal(t, "A", call(t, p2c.New(pool), ok))
	}
}

// F094, F096, F097, F099: the caller's cancel, for whatever cause, counts neither
// way. What decides is the lease's own context, not the error.
func TestF094CancelIsNeutral(t *testing.T) {
	errX := errors.New("x")
	causes := map[string]func() context.Context{
		"cancel": func() context.Context {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return ctx
		},
		"cause": func() context.Context {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errX)
			return ctx
		},
		"parent": func() context.Context {
			parent, cancel := context.WithCancelCause(context.Background())
			ctx, stop := context.WithTimeout(parent, time.Hour)
			cancel(errX)
			stop()
			return ctx
		},
	}
	for name, make := range causes {
		for _, err := range []error{context.Canceled, errX, fmt.Errorf("wrapped: %w", errX), errors.New("operation was canceled"), context.DeadlineExceeded} {
			ctx := make()
			assert.Equal(t, evenkeel.OutcomeNeutral, evenkeel.DefaultOutcome(ctx, err), "%s: %v", name, err)
			assert.Equal(t, evenkeel.OutcomeSuccess, evenkeel.DefaultOutcome(ctx, nil))
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), 0, errX)
	defer cancel()
	<-ctx.Done()
	assert.Equal(t, evenkeel.OutcomeDeadline, evenkeel.DefaultOutcome(ctx, errX))
	assert.Equal(t, evenkeel.OutcomeFailure, evenkeel.DefaultOutcome(context.Background(), context.DeadlineExceeded),
		"a timeout that a library set itself")
	assert.Equal(t, evenkeel.OutcomeFailure, evenkeel.DefaultOutcome(context.Background(), context.Canceled))

	pool := newPool(t, evenkeel.Config{}, "A", "B")
	only := onto(pool, "A")
	for range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		lease, err := only.Lease(ctx)
		require.NoError(t, err)
		cancel()
		lease.Done(errBroken)
	}
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateActive, s.State)
	assert.Zero(t, s.Failures)
	assert.Zero(t, s.InFlight)
	assert.Zero(t, s.Penalty)
}

// Decision 9: the callers' deadlines never count as failures in a row, but a
// backend that hangs while the others answer is found by comparison.
func TestDeadlinesCountByComparisonOnly(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B", "C")
	deadline := func(lb evenkeel.Balancer[string], hung func(string) bool) {
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		if hung(lease.Backend()) {
			lease.DoneAs(evenkeel.OutcomeDeadline, context.DeadlineExceeded)
		} else {
			lease.Done(nil)
		}
	}
	lb := roundrobin.New(pool)
	for range 3000 { // callers in a hurry hurt all alike
		c.Advance(time.Millisecond)
		deadline(lb, func(string) bool { return true })
	}
	assert.Zero(t, ejected(pool))
	c.Advance(time.Minute)
	for range 300 { // a hung one hurts only itself
		c.Advance(time.Millisecond)
		deadline(lb, func(b string) bool { return b == "A" })
	}
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateEjectedByOutcome, s.State)
	assert.ErrorContains(t, s.Cause, "calls failed within")
	assert.Equal(t, 1, ejected(pool))
}

// A custom rule replaces the default, and is asked of successes too.
func TestCustomOutcome(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Outcome: func(_ context.Context, err error) evenkeel.Outcome {
		if err == nil {
			return evenkeel.OutcomeFailure
		}
		return evenkeel.Outcome(99) // none of the constants: a failure
	}}, "A", "B")
	only := onto(pool, "A")
	for range 2 {
		call(t, only, ok)
		call(t, only, fails("A"))
	}
	assert.EqualValues(t, 4, stats(pool, "A").Failures)
	call(t, only, ok)
	assert.Equal(t, 1, ejected(pool))
}

// Decision 8: health checks that have taken more than the panic share are not
// believed; what is ejected by hand stays out.
func TestPanicShare(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, names(4)...)
	down := errors.New("no answer")
	for i, b := range names(4)[:2] {
		require.NoError(t, pool.SetHealth(b, down))
		s := stats(pool, b)
		assert.Equal(t, evenkeel.StateEjectedByHealth, s.State)
		assert.Equal(t, down, s.Cause)
		assert.False(t, s.Used, i)
		assert.False(t, pool.Stats().Panic)
	}
	require.NoError(t, pool.SetHealth(names(4)[2], down))
	for b, s := range pool.All() {
		assert.True(t, s.Used, b)
		assert.True(t, pool.Stats().Panic, b)
	}
	require.NoError(t, pool.Eject(names(4)[0]))
	require.NoError(t, pool.SetHealth(names(4)[3], down))
	got := map[string]bool{}
	for range 200 {
		got[call(t, p2c.New(pool), ok)] = true
	}
	assert.Len(t, got, 3)
	assert.NotContains(t, got, names(4)[0])
	require.NoError(t, pool.SetHealth(names(4)[0], nil))
	assert.Equal(t, evenkeel.StateEjectedByHand, stats(pool, names(4)[0]).State, "a check undoes no ejection by hand")
}

// Where health and outcomes together would leave nobody, all that are not
// ejected by hand are used.
func TestNobodyLeft(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	failOn(t, pool, "A", 5)
	require.NoError(t, pool.SetHealth("B", errBroken))
	got := map[string]bool{}
	for range 100 {
		got[call(t, p2c.New(pool), ok)] = true
	}
	assert.Len(t, got, 2)
	require.NoError(t, pool.Eject("A"))
	require.NoError(t, pool.Eject("B"))
	_, err := p2c.New(pool).Lease(context.Background())
	assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
	assert.ErrorContains(t, err, "2 ejected by hand")
}

// Restore ends any ejection, with a clean record.
func TestRestoreEndsAnyEjection(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C", "D")
	failOn(t, pool, "A", 5)
	require.NoError(t, pool.SetHealth("B", errBroken))
	require.NoError(t, pool.Eject("C"))
	for _, b := range []string{"A", "B", "C"} {
		require.NoError(t, pool.Restore(b))
		s := stats(pool, b)
		assert.Equal(t, evenkeel.StateSlowStart, s.State, "%s: back is back", b)
		assert.NoError(t, s.Cause, b)
	}
	failOn(t, pool, "A", 4)
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "A").State)
	assert.ErrorIs(t, pool.Restore("X"), evenkeel.ErrUnknownBackend)
}

// Decision 4: an ejection outlives a removal that is shorter than it.
func TestEjectionOutlivesABlip(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	failOn(t, pool, "A", 5)
	require.NoError(t, pool.Replace("B", "C"))
	c.Advance(time.Second)
	require.NoError(t, pool.Replace("A", "B", "C"))
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
	require.NoError(t, pool.Replace("B", "C"))
	c.Advance(10 * time.Second)
	require.NoError(t, pool.Replace("A", "B", "C"))
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateActive, s.State, "later it is new")
	assert.Zero(t, s.Ejections)
}

// A backend that relapses is found as fast as the first time: the calls that went
// well since its return are spread over that time, not over the last moment.
func TestRelapseIsFoundAsFast(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true},
		Ejection: exact(evenkeel.Ejection{Consecutive: -1})}, "A", "B", "C", "D")
	lb := roundrobin.New(pool)
	run := func(d time.Duration, bad bool) (took time.Duration) {
		for n := 0; took < d; n++ {
			took += time.Millisecond
			c.Advance(time.Millisecond)
			call(t, lb, func(b string) error {
				if bad && b == "A" && n%5 == 0 {
					return errBroken
				}
				return nil
			})
			if ejected(pool) > 0 {
				break
			}
		}
		return took
	}
	run(2*time.Minute, false)
	first := run(time.Minute, true)
	require.Equal(t, 1, ejected(pool))
	trial(t, c, pool, "A", nil)
	run(2*time.Minute, false)
	second := run(time.Minute, true)
	require.Equal(t, 1, ejected(pool))
	assert.InDelta(t, first.Seconds(), second.Seconds(), 0.6)
}

// What health checks found down is not remembered for ever after its removal.
func TestDownIsForgotten(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	require.NoError(t, pool.SetHealth("A", errBroken))
	require.NoError(t, pool.Replace("B", "C"))
	c.Advance(4 * time.Minute)
	require.NoError(t, pool.Replace("A", "B", "C"))
	assert.Equal(t, evenkeel.StateEjectedByHealth, stats(pool, "A").State)
	require.NoError(t, pool.Replace("B", "C"))
	c.Advance(5 * time.Minute)
	require.NoError(t, pool.Replace("A", "B", "C"))
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
}
