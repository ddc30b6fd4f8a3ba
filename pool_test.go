package evenkeel_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// hold opens a lease on one backend.
func hold(t testing.TB, pool *evenkeel.Pool[string], backend string) (lease evenkeel.Lease[string]) {
	t.Helper()
	lease, err := onto(pool, backend).Lease(context.Background())
	require.NoError(t, err)
	require.Equal(t, backend, lease.Backend())
	return
}

// members is the pool as All has it.
func members(pool *evenkeel.Pool[string]) (list []string) {
	for b := range pool.All() {
		list = append(list, b)
	}
	return list
}

func counts(pool *evenkeel.Pool[string]) map[string]int {
	m := map[string]int{}
	for b, s := range pool.All() {
		m[b] = s.InFlight
	}
	return m
}

func TestNewPool(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "c", "a", "b")
	assert.Equal(t, []string{"c", "a", "b"}, members(pool), "in the order given")
	assert.Equal(t, 3, pool.Len())
	for b, s := range pool.All() {
		assert.Equal(t, evenkeel.Stats{State: evenkeel.StateActive, Used: true, Weight: 1, Share: 1, Slowness: 1}, s, b)
	}
	assert.Zero(t, newPool(t, evenkeel.Config{}).Len())

	_, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "a")
	require.ErrorIs(t, err, evenkeel.ErrDuplicate)
	assert.ErrorContains(t, err, "a stands twice")

	_, err = evenkeel.NewPool(evenkeel.Config{}, 1.5, math.NaN())
	require.ErrorIs(t, err, evenkeel.ErrBadBackend)
	assert.ErrorContains(t, err, "NaN")
}

// Every field of Config that is out of its range is refused by name.
func TestBadConfig(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tooMany := math.MaxInt
	if tooMany == math.MaxInt32 {
		tooMany = -1 // there is no larger one
	}
	for field, configs := range map[string][]evenkeel.Config{
		"MaxInFlight": {{MaxInFlight: -1}, {MaxInFlight: tooMany}},
		"Backlog":     {{MaxInFlight: 1, Backlog: -1}, {Backlog: 1}},
		"MaxWait":     {{MaxInFlight: 1, MaxWait: -1}, {MaxWait: time.Second}},
		"ControlledDelay.Target": {
			{MaxInFlight: 1, ControlledDelay: evenkeel.ControlledDelay{Target: -1}},
			{ControlledDelay: evenkeel.ControlledDelay{Target: 1}},
		},
		"ControlledDelay.Interval": {
			{MaxInFlight: 1, Backlog: 1, ControlledDelay: evenkeel.ControlledDelay{Target: 1, Interval: -1}},
			{MaxInFlight: 1, Backlog: 1, ControlledDelay: evenkeel.ControlledDelay{Interval: 1}},
		},
		"PanicShare":            {{PanicShare: -0.1}, {PanicShare: 1.1}, {PanicShare: nan}, {PanicShare: inf}},
		"Ejection.Consecutive":  {{Ejection: evenkeel.Ejection{Consecutive: 1001}}},
		"Ejection.Window":       {{Ejection: evenkeel.Ejection{Window: 9}}},
		"Ejection.MinFailures":  {{Ejection: evenkeel.Ejection{MinFailures: -1}}, {Ejection: evenkeel.Ejection{MinFailures: 2}}},
		"Ejection.Tolerance":    {{Ejection: evenkeel.Ejection{Tolerance: -1}}, {Ejection: evenkeel.Ejection{Tolerance: nan}}},
		"Ejection.Base":         {{Ejection: evenkeel.Ejection{Base: -1}}},
		"Ejection.Max":          {{Ejection: evenkeel.Ejection{Max: -1}}, {Ejection: evenkeel.Ejection{Base: 2, Max: 1}}},
		"Ejection.Jitter":       {{Ejection: evenkeel.Ejection{Jitter: 1.1}}, {Ejection: evenkeel.Ejection{Jitter: nan}}, {Ejection: evenkeel.Ejection{Jitter: -inf}}},
		"Ejection.MaxEjected":   {{Ejection: evenkeel.Ejection{MaxEjected: 1.1}}, {Ejection: evenkeel.Ejection{MaxEjected: -inf}}},
		"Ejection.TrialTimeout": {{Ejection: evenkeel.Ejection{TrialTimeout: -1}}},
		"SlowStart.Window":      {{SlowStart: evenkeel.SlowStart{Window: -1}}},
		"SlowStart.Successes":   {{SlowStart: evenkeel.SlowStart{Successes: -1}}},
		"SlowStart.Floor":       {{SlowStart: evenkeel.SlowStart{Floor: -1}}, {SlowStart: evenkeel.SlowStart{Floor: 1.1}}, {SlowStart: evenkeel.SlowStart{Floor: nan}}},
	} {
		for _, cfg := range configs {
			pool, err := evenkeel.NewPool(cfg, "a")
			require.ErrorIs(t, err, evenkeel.ErrBadConfig, "%s: %+v", field, cfg)
			assert.ErrorContains(t, err, "evenkeel: bad config: "+field+": ")
			assert.Nil(t, pool)
		}
	}
}

// The zero Pool has no members and refuses what would change it.
func TestZeroPool(t *testing.T) {
	var pool evenkeel.Pool[string]
	assert.Error(t, pool.Replace("a"))
	assert.Error(t, pool.Replace())
	assert.Error(t, pool.ReplaceMembers(evenkeel.Member[string]{Backend: "a", Weight: 1}))
	assert.Error(t, pool.SetWeight("a", 1))
	assert.Error(t, pool.Eject("a"))
	assert.Error(t, pool.Restore("a"))
	assert.Error(t, pool.SetHealth("a", nil))
	pool.SetLoad(nil)
	assert.Zero(t, pool.Len())
	assert.Zero(t, pool.InFlight("a"))
	assert.Zero(t, pool.Backlog())
	assert.Empty(t, members(&pool))
	for range pool.Leaving() {
		assert.Fail(t, "it has nobody to leave")
	}
	for name, lb := range everyPolicy(t, &pool) {
		_, err := lb.Pick()
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, name)
		_, err = lb.Lease(t.Context())
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, name)
	}
}

func TestReplace(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a", "b", "c")
	require.NoError(t, pool.SetWeight("b", 3))
	require.NoError(t, pool.Eject("c"))
	lease := hold(t, pool, "b")
	require.NoError(t, pool.Replace("d", "c", "b"))
	assert.Equal(t, []string{"d", "c", "b"}, members(pool))
	assert.Equal(t, 3.0, stats(pool, "b").Weight)
	assert.Equal(t, 1, stats(pool, "b").InFlight)
	assert.Equal(t, evenkeel.StateEjectedByHand, stats(pool, "c").State)
	assert.Equal(t, 1.0, stats(pool, "d").Weight)
	lease.Release()
	lbtest.RequireIdle(t, pool)
}

// F146, F149: a duplicate, wherever it stands, refuses the whole change by name.
// So does a bad weight. (That discover removes duplicates first is its own test.)
func TestF146F149RefusedWhole(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a", "b")
	require.NoError(t, pool.SetWeight("b", 2))
	lease := hold(t, pool, "a")
	before := map[string]evenkeel.Stats{}
	for b, s := range pool.All() {
		before[b] = s
	}

	refused := map[string]error{
		"x stands twice":            pool.Replace("c", "x", "x"),
		"a stands twice":            pool.Replace("a", "c", "a"),
		"c stands twice":            pool.ReplaceMembers(evenkeel.Member[string]{Backend: "c", Weight: 1}, evenkeel.Member[string]{Backend: "c", Weight: 2}),
		"-1 for backend c":          pool.ReplaceMembers(evenkeel.Member[string]{Backend: "a", Weight: 1}, evenkeel.Member[string]{Backend: "c", Weight: -1}),
		"NaN for backend c":         pool.ReplaceMembers(evenkeel.Member[string]{Backend: "c", Weight: math.NaN()}),
		"+Inf for backend b":        pool.SetWeight("b", math.Inf(1)),
		"-Inf for backend b":        pool.SetWeight("b", math.Inf(-1)),
		"NaN for backend b":         pool.SetWeight("b", math.NaN()),
		"-0.5 for backend b":        pool.SetWeight("b", -0.5),
		"unknown backend q: it is":  pool.SetWeight("q", 1),
		"unknown backend r: it is":  pool.Eject("r"),
		"unknown backend s: it is":  pool.Restore("s"),
		"unknown backend u: it is ": pool.SetHealth("u", nil),
	}
	for text, err := range refused {
		assert.ErrorContains(t, err, text)
	}
	after := map[string]evenkeel.Stats{}
	for b, s := range pool.All() {
		after[b] = s
	}
	assert.Equal(t, before, after)
	assert.Equal(t, []string{"a", "b"}, members(pool))
	lease.Release()
	lbtest.RequireIdle(t, pool)
}

// F154: the pool keeps a list of its own.
func TestF154CallerKeepsItsSlice(t *testing.T) {
	list := []string{"a", "b"}
	pool := newPool(t, evenkeel.Config{}, list...)
	list[0] = "x"
	weighted := []evenkeel.Member[string]{{Backend: "c", Weight: 1}, {Backend: "d", Weight: 1}}
	assert.Equal(t, []string{"a", "b"}, members(pool))
	require.NoError(t, pool.ReplaceMembers(weighted...))
	weighted[0].Backend = "x"
	assert.Equal(t, []string{"c", "d"}, members(pool))
}

// F002, decision 4: a backend that comes back while leases on it are open is the
// same one, one that comes back later is new.
func TestF002BlipOfTheResolver(t *testing.T) {
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "X")
	require.NoError(t, pool.SetWeight("X", 2))
	one := hold(t, pool, "X")
	require.NoError(t, pool.Replace())
	assert.Equal(t, 1, pool.InFlight("X"))
	left := map[string]int{}
	for b, s := range pool.Leaving() {
		assert.Equal(t, evenkeel.StateRemoved, s.State)
		assert.False(t, s.Used)
		left[b] = s.InFlight
	}
	assert.Equal(t, map[string]int{"X": 1}, left)

	require.NoError(t, pool.Replace("X"))
	two := hold(t, pool, "X")
	assert.Equal(t, 2, pool.InFlight("X"))
	assert.Equal(t, 2.0, stats(pool, "X").Weight, "the same one")
	one.Release()
	assert.Equal(t, 1, pool.InFlight("X"))
	two.Release()
	assert.Equal(t, 0, pool.InFlight("X"))

	// Drained, it is not idler than idle: against an idle Y it gets half.
	require.NoError(t, pool.Replace("X", "Y"))
	require.NoError(t, pool.SetWeight("X", 1))
	lb, err := p2c.NewWith(pool, p2c.Config{Seed: 1})
	require.NoError(t, err)
	hits := 0
	for range 2000 {
		if call(t, lb, ok) == "X" {
			hits++
		}
	}
	assert.InDelta(t, 1000, hits, 150)

	require.NoError(t, pool.SetWeight("X", 2))
	require.NoError(t, pool.Replace("Y"))
	require.NoError(t, pool.Replace("X", "Y"))
	assert.Equal(t, 1.0, stats(pool, "X").Weight, "a new one")
}

// Decision 4: an ejection by hand does not end by leaving.
func TestEjectionByHandOutlivesABlip(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a", "b")
	require.NoError(t, pool.Eject("a"))
	require.NoError(t, pool.Replace("b"))
	require.NoError(t, pool.Replace("b", "c"))
	require.NoError(t, pool.Replace("a", "b"))
	assert.Equal(t, evenkeel.StateEjectedByHand, stats(pool, "a").State)

	// While it is away it can be restored.
	require.NoError(t, pool.Replace("b"))
	require.NoError(t, pool.Restore("a"))
	assert.ErrorIs(t, pool.Restore("a"), evenkeel.ErrUnknownBackend, "now nothing is known of it")
	require.NoError(t, pool.Replace("a", "b"))
	assert.True(t, stats(pool, "a").Used)
}

// F009: a change of the list keeps what is in flight.
func TestF009UpdateKeepsCounts(t *testing.T) {
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B")
	lb := sqf.New(pool)
	old := make([]evenkeel.Lease[string], 4)
	for i := range old {
		var err error
		old[i], err = lb.Lease(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, map[string]int{"A": 2, "B": 2}, counts(pool))
	require.NoError(t, pool.Replace("A", "B", "C"))
	one, err := lb.Lease(t.Context())
	require.NoError(t, err)
	two, err := lb.Lease(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"A": 2, "B": 2, "C": 2}, counts(pool))
	for i := range old {
		old[i].Done(nil)
	}
	assert.Equal(t, map[string]int{"A": 0, "B": 0, "C": 2}, counts(pool))
	for range 20 {
		assert.NotEqual(t, "C", call(t, lb, ok))
	}
	one.Release()
	two.Release()
	lbtest.RequireIdle(t, pool)
}

// F147: the same set again and again changes nothing.
func TestF147SameSetAgain(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "a", "b")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("a", "b", "c"))
	lease := hold(t, pool, "c")
	c.Advance(time.Second)
	for range 5 {
		call(t, onto(pool, "c"), ok) // the first step of its slow start
	}
	before := stats(pool, "c")
	require.InDelta(t, 0.19, before.Share, 1e-9)
	for range 1000 {
		require.NoError(t, pool.Replace("a", "b", "c"))
	}
	assert.Equal(t, before, stats(pool, "c"))
	lease.Release()
	lbtest.RequireIdle(t, pool)
}

// F151: a new weight takes effect at once and keeps the counts.
func TestF151WeightOfAMember(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	for range 3 {
		lease := hold(t, pool, "A")
		defer lease.Release()
	}
	require.NoError(t, pool.ReplaceMembers(evenkeel.Member[string]{Backend: "A", Weight: 5}, evenkeel.Member[string]{Backend: "B", Weight: 1}))
	assert.Equal(t, 3, pool.InFlight("A"))
	assert.Equal(t, 5.0, stats(pool, "A").Weight)
	lb := sqf.New(pool)
	first, err := lb.Lease(t.Context())
	require.NoError(t, err)
	defer first.Release()
	assert.Equal(t, "B", first.Backend(), "3/5 against 0")
	second, err := lb.Lease(t.Context())
	require.NoError(t, err)
	defer second.Release()
	assert.Equal(t, "A", second.Backend(), "3/5 against 1")
}

// F156, that no pick uses what Replace took out once it has returned, is part of
// lbtest.Run, which every policy runs. F152 has no case here: a pick hands out the backend itself, never an index that
// could go stale. F134 to F144 and F157 (resolvers) belong to package discover.

// F142, F144: an empty Replace is obeyed while goroutines pick with every policy:
// an error, no panic, and a later one works.
func TestF142F144EmptyReplace(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	lbs := everyPolicy(t, pool)
	var stop atomic.Bool
	var all sync.WaitGroup
	for _, lb := range lbs {
		for range 12 {
			all.Go(func() {
				for !stop.Load() {
					if _, err := lb.Pick(); err != nil {
						assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
					}
					lease, err := lb.Lease(context.Background())
					if err != nil {
						assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
					}
					lease.Release()
				}
			})
		}
	}
	for range 50 {
		assert.NoError(t, pool.Replace())
		for name, lb := range lbs {
			_, err := lb.Lease(context.Background())
			assert.ErrorIs(t, err, evenkeel.ErrNoBackends, name)
			assert.ErrorContains(t, err, "the pool is empty", name)
		}
		assert.NoError(t, pool.Replace("A"))
		for name, lb := range lbs {
			b, err := lb.Pick()
			assert.NoError(t, err)
			assert.Equal(t, "A", b, name)
		}
	}
	stop.Store(true)
	all.Wait()
	lbtest.RequireIdle(t, pool)
}

// F167: the set shrinks and grows under picks of every policy.
func TestF167ShrinkWhilePicking(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, names(40)...)
	var stop atomic.Bool
	var all sync.WaitGroup
	for _, lb := range everyPolicy(t, pool) {
		all.Go(func() {
			for !stop.Load() {
				lease, err := lb.Lease(context.Background())
				assert.NoError(t, err)
				lease.Done(nil)
			}
		})
	}
	for range 30 {
		for _, n := range []int{1, 40, 2, 17, 3} {
			assert.NoError(t, pool.Replace(names(n)...))
			runtime.Gosched()
		}
	}
	stop.Store(true)
	all.Wait()
	lbtest.RequireIdle(t, pool)
}

func TestTenThousandMembers(t *testing.T) {
	list := make([]string, 10_000)
	for i := range list {
		list[i] = fmt.Sprintf("10.%d.%d.%d:80", i>>16, i>>8&255, i&255)
	}
	pool := newPool(t, evenkeel.Config{}, list...)
	require.Equal(t, 10_000, pool.Len())
	leases := make([]evenkeel.Lease[string], 10_000)
	turns := roundrobin.New(pool)
	for i := range leases {
		var err error
		leases[i], err = turns.Lease(t.Context())
		require.NoError(t, err)
	}
	for b, s := range pool.All() {
		require.Equal(t, 1, s.InFlight, b)
	}
	require.NoError(t, pool.Replace(list[:5000]...))
	n := 0
	for range pool.Leaving() {
		n++
	}
	assert.Equal(t, 5000, n)
	for i := range leases {
		leases[i].Release()
	}
	lbtest.RequireIdle(t, pool)
	for name, lb := range everyPolicy(t, pool) {
		used := map[string]bool{}
		for range 1000 {
			used[call(t, lb, ok)] = true
		}
		assert.Greater(t, len(used), 800, name)
	}
	require.NoError(t, pool.SetWeight(list[17], 3)) // and with weights
	for name, lb := range everyPolicy(t, pool) {
		used := map[string]bool{}
		for range 1000 {
			used[call(t, lb, ok)] = true
		}
		assert.Greater(t, len(used), 800, name)
	}
}

// A million leases beside changes of every kind from many goroutines: no count is
// lost.
func TestMillionLeasesBesideChanges(t *testing.T) {
	const callers = 8
	each := 125_000
	if raceEnabled {
		each = 25_000 // it is slow, and sees as much
	}
	pool := newPool(t, evenkeel.Config{}, names(12)...)
	lbs := everyPolicy(t, pool)
	order := []evenkeel.Balancer[string]{lbs["p2c"], lbs["sqf"], lbs["roundrobin"], lbs["random"]}
	var leases, changes atomic.Int64
	var callersDone, changersDone sync.WaitGroup
	var stop atomic.Bool
	for c := range callers {
		callersDone.Go(func() {
			lb := order[c%len(order)]
			var held *evenkeel.Lease[string] // one stays open across changes
			defer func() { held.Release() }()
			for i := range each {
				lease, err := lb.Lease(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				leases.Add(1)
				switch i % 4 {
				case 0:
					lease.Done(nil)
				case 1:
					lease.Release()
				case 2:
					lease.DoneAs(evenkeel.OutcomeNeutral, nil)
				default:
					if held != nil {
						held.Release()
					}
					held = &lease
				}
			}
		})
	}
	for g := range 3 {
		changersDone.Go(func() {
			for i := 0; !stop.Load(); i++ {
				b := names(12)[1+(i*5+g)%11]
				var err error
				switch (i + g) % 4 {
				case 0:
					if err = pool.Eject(b); err == nil {
						err = pool.Restore(b)
					}
				case 1:
					err = pool.Replace(names(6 + i%7)...)
				case 2:
					err = pool.SetWeight(names(12)[0], float64(1+i%3))
				case 3:
					pool.SetLoad(nil)
				}
				if err != nil {
					assert.ErrorIs(t, err, evenkeel.ErrUnknownBackend, "only for one that another goroutine has removed")
				}
				changes.Add(1)
			}
		})
	}
	callersDone.Wait()
	stop.Store(true)
	changersDone.Wait()
	assert.Equal(t, int64(callers*each), leases.Load())
	assert.Greater(t, changes.Load(), int64(50))
	lbtest.RequireIdle(t, pool)
}

// A lease that was placed while its backend was removed is not lost: it is either
// counted on the backend that leaves, or it was not placed.
func TestF002RemovalRacesWithALease(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}})
	lb := roundrobin.New(pool)
	for range 3000 {
		require.NoError(t, pool.Replace("a"))
		var lease evenkeel.Lease[string]
		var err error
		placed := make(chan struct{})
		go func() {
			lease, err = lb.Lease(context.Background())
			close(placed)
		}()
		require.NoError(t, pool.Replace())
		<-placed
		if err != nil {
			require.ErrorIs(t, err, evenkeel.ErrNoBackends)
			require.Zero(t, pool.InFlight("a"))
			continue
		}
		require.Equal(t, 1, pool.InFlight("a"))
		require.NoError(t, pool.Replace("a"))
		require.Equal(t, 1, pool.InFlight("a"), "the same one")
		lease.Release()
		require.Zero(t, pool.InFlight("a"))
	}
}

// F162: a backend is removed while a call on it ends, again and again: nothing
// hangs.
func TestF162RemoveWhileACallEnds(t *testing.T) {
	for _, cfg := range []evenkeel.Config{{}, {MaxInFlight: 1, Backlog: 1}} {
		pool := newPool(t, cfg, "a", "b")
		lb := sqf.New(pool)
		ended := make(chan *evenkeel.Lease[string])
		var all sync.WaitGroup
		all.Go(func() {
			for lease := range ended {
				lease.Done(errBroken) // the path that takes the lock
			}
		})
		for range 10_000 {
			lease, err := lb.Lease(context.Background())
			require.NoError(t, err)
			ended <- &lease
			require.NoError(t, pool.Replace("a"))
			require.NoError(t, pool.Replace("a", "b"))
			for pool.InFlight("a")+pool.InFlight("b") > 0 {
				runtime.Gosched()
			}
		}
		close(ended)
		all.Wait()
		lbtest.RequireIdle(t, pool)
	}
}

// F164 has no case here: there is nothing to close and no loop that updates.

// F166: methods of the pool may be called from a load signal and from a loop over
// All (OnEvent has its own test).
func TestF166ReentryFromSignalAndLoop(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a", "b")
	pool.SetLoad(each(func(b string, inFlight int) float64 {
		_ = pool.Len()
		return float64(pool.InFlight(b) + inFlight)
	}))
	for name, lb := range everyPolicy(t, pool) {
		call(t, lb, ok)
		assert.Equal(t, map[string]int{"a": 0, "b": 0}, counts(pool), name)
	}
	for b := range pool.All() {
		require.NoError(t, pool.Eject(b))
		require.NoError(t, pool.Restore(b))
		require.NoError(t, pool.Replace(append(members(pool), b+b)...))
	}
	assert.Equal(t, []string{"a", "b", "aa", "bb"}, members(pool), "the loop ran over what was there when it began")
	for range pool.All() {
		break // leaving early is fine
	}
}
