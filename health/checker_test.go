package health_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/health"
)

func TestThresholdsAreExact(t *testing.T) {
	for _, c := range []struct{ down, up int }{{1, 1}, {3, 2}, {2, 5}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, servers, told := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet(), &results{}
				cfg := steady
				cfg.Down, cfg.Up, cfg.OnResult = c.down, c.up, told.add
				servers.set("a", errRefused)
				checker := start(t, pool, servers.probe, cfg)
				defer checker.Close()
				for i := 1; i <= c.down; i++ {
					time.Sleep(time.Second / 2)
					assert.Equal(t, i, servers.probed("a"))
					want := evenkeel.StateActive
					if i == c.down {
						want = evenkeel.StateEjectedByHealth
					}
					assert.Equal(t, want, state(pool, "a"), "after %d failures", i)
					time.Sleep(time.Second / 2)
					synctest.Wait()
				}
				servers.set("a", nil) // the probe of this very moment has failed already
				for i := 1; i <= c.up; i++ {
					assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"), "after %d passed", i-1)
					time.Sleep(time.Second)
					synctest.Wait()
				}
				assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))
				last := told.of("a")[len(told.of("a"))-1]
				assert.Equal(t, health.Result{Backend: "a", Start: last.Start, Streak: c.up, Up: true, Changed: true}, last)
				assert.Equal(t, evenkeel.StateActive, state(pool, "b"))
			})
		})
	}
}

func TestOneFailureBetweenPassesTakesNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, n := newPool(t, evenkeel.Config{}, "a"), atomic.Int32{}
		probe := func(context.Context, string) error {
			if n.Add(1)%3 != 0 { // two of three, never three in a row
				return errRefused
			}
			return nil
		}
		checker := start(t, pool, probe, steady)
		defer checker.Close()
		time.Sleep(time.Minute)
		assert.Equal(t, evenkeel.StateActive, state(pool, "a"))
		assert.GreaterOrEqual(t, n.Load(), int32(60))
	})
}

func TestZeroConfigIsTheDocumentedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers, told := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet(), &results{}
		servers.set("a", errRefused)
		checker := start(t, pool, servers.probe, health.Config{OnResult: told.add, Seed: 7})
		began := time.Now()
		time.Sleep(5 * time.Minute)
		require.NoError(t, checker.Close())
		at := servers.at["a"]
		assert.Less(t, at[0].Sub(began), 500*time.Millisecond, "the first probe waits for the jitter only")
		var shortest, longest time.Duration = math.MaxInt64, 0
		for i := range at[1:] {
			gap := at[i+1].Sub(at[i])
			shortest, longest = min(shortest, gap), max(longest, gap)
		}
		assert.GreaterOrEqual(t, shortest, 4500*time.Millisecond)
		assert.LessOrEqual(t, longest, 5*time.Second)
		assert.Greater(t, longest-shortest, 300*time.Millisecond, "there is jitter")
		assert.False(t, told.of("a")[1].Changed)
		assert.True(t, told.of("a")[2].Changed, "three failures")
	})
}

func TestSeedRepeatsTheJitter(t *testing.T) {
	moments := func(seed uint64) []time.Duration {
		var list []time.Duration
		synctest.Test(t, func(t *testing.T) {
			pool, servers, began := newPool(t, evenkeel.Config{}, "a"), newFleet(), time.Now()
			checker := start(t, pool, servers.probe, health.Config{Seed: seed, Jitter: 1})
			time.Sleep(time.Minute)
			require.NoError(t, checker.Close())
			for _, at := range servers.at["a"] {
				list = append(list, at.Sub(began))
			}
		})
		return list
	}
	assert.Equal(t, moments(3), moments(3))
	assert.NotEqual(t, moments(3), moments(4))
	assert.NotEqual(t, moments(0), moments(0))
}

func TestTimeoutOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers, told := newPool(t, evenkeel.Config{}, "a"), newFleet(), &results{}
		servers.takes = time.Hour
		checker := start(t, pool, servers.probe, health.Config{Timeout: 300 * time.Millisecond, Interval: time.Second, Jitter: -1, OnResult: told.add})
		defer checker.Close()
		time.Sleep(900 * time.Millisecond)
		require.Len(t, told.of("a"), 1)
		first := told.of("a")[0]
		assert.Equal(t, 300*time.Millisecond, first.Took)
		require.ErrorIs(t, first.Err, context.DeadlineExceeded)
		assert.EqualError(t, first.Err, "health: probe of a: took longer than the timeout of 300ms: context deadline exceeded")
	})
}

func TestPassedTooLateIsFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, told := newPool(t, evenkeel.Config{}, "a"), &results{}
		deaf := func(context.Context, string) error { time.Sleep(1100 * time.Millisecond); return nil }
		checker := start(t, pool, deaf, health.Config{OnResult: told.add})
		defer checker.Close()
		time.Sleep(3 * time.Second)
		require.Len(t, told.of("a"), 1)
		assert.ErrorContains(t, told.of("a")[0].Err, "took longer than the timeout of 1s: it passed, but too late")
	})
}

func TestOneProbeAtATimeAndNoMoreThanMaxProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 100 {
			names = append(names, fmt.Sprint("s", i))
		}
		pool, servers := newPool(t, evenkeel.Config{}, names...), newFleet()
		servers.takes = 150 * time.Millisecond
		checker := start(t, pool, servers.probe, health.Config{Interval: 100 * time.Millisecond, MaxProbes: 10, Jitter: -1})
		time.Sleep(15*time.Second + time.Millisecond)
		require.NoError(t, checker.Close())
		_, most, most1 := servers.busy("s0")
		assert.Equal(t, 10, most)
		assert.Equal(t, 1, most1)
		for _, name := range names { // 10 at a time of 100, each 150 ms: 10 rounds, and no one is passed over
			assert.InDelta(t, 10, servers.probed(name), 1, name)
		}
	})
}

func TestFollowsReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers, told := newPool(t, evenkeel.Config{}), newFleet(), &results{}
		cfg := steady
		cfg.OnResult = told.add
		checker := start(t, pool, servers.probe, cfg)
		defer checker.Close()
		time.Sleep(1500 * time.Millisecond) // an empty pool is fine
		require.NoError(t, pool.Replace("a", "b"))
		time.Sleep(time.Second)
		assert.Equal(t, 1, servers.probed("a"), "found within a second")
		servers.set("a", errRefused)
		time.Sleep(3 * time.Second)
		require.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))

		require.NoError(t, pool.Replace("b", "c"))
		time.Sleep(1100 * time.Millisecond)
		before := servers.probed("a")
		time.Sleep(10 * time.Second)
		assert.Equal(t, before, servers.probed("a"), "no member is no longer probed")
		assert.Greater(t, servers.probed("c"), 8)

		require.NoError(t, pool.Replace("a", "b", "c"))
		assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"), "a blip of the list heals nobody")
		servers.set("a", nil)
		time.Sleep(3 * time.Second)
		assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))
	})
}

func TestAJoinIsNoticedWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a"), newFleet()
		checker := start(t, pool, servers.probe, health.Config{Interval: time.Hour, Jitter: -1})
		defer checker.Close()
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, pool.Replace("a", "b"))
		time.Sleep(time.Second)
		assert.Equal(t, 1, servers.probed("a"))
		assert.Equal(t, 1, servers.probed("b"))
	})
}

func TestABackendThatIsGoneForLongIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet()
		servers.set("a", errRefused)
		checker := start(t, pool, servers.probe, steady)
		defer checker.Close()
		time.Sleep(5 * time.Second)
		require.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
		require.NoError(t, pool.Replace("b", "c"))
		time.Sleep(6 * time.Minute)
		require.NoError(t, pool.Replace("a", "b", "c"))
		assert.ErrorContains(t, stats(pool, "a").Cause, "no health check has found it up yet", "it is new")
		time.Sleep(2 * time.Second)
		assert.ErrorContains(t, stats(pool, "a").Cause, "no health check has found it up yet", "and so is its count of failures")
		time.Sleep(2 * time.Second)
		assert.ErrorIs(t, stats(pool, "a").Cause, errRefused)
	})
}

func TestLeavingEndsTheProbeUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers, told := newPool(t, evenkeel.Config{}, "a", "b"), newFleet(), &results{}
		servers.takes = time.Hour
		checker := start(t, pool, servers.probe, health.Config{
			Interval: time.Second, Timeout: 30 * time.Second, Jitter: -1, MaxProbes: 2, Down: 1, OnResult: told.add,
		})
		defer checker.Close()
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, pool.Replace("b", "c"))
		time.Sleep(600 * time.Millisecond)
		assert.Empty(t, told.of("a"), "it counts neither way")
		now, _, _ := servers.busy("a")
		assert.Zero(t, now, "its context has ended")
		assert.Equal(t, 1, servers.probed("c"), "its place is free again")
		require.NoError(t, pool.Replace("a", "b", "c"))
		assert.ErrorContains(t, stats(pool, "a").Cause, "no health check has found it up yet", "it waits for one")
	})
}

func TestByHandHoldsWhateverProbesSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet()
		checker := start(t, pool, servers.probe, steady)
		require.NoError(t, pool.Eject("a"))
		flap := func() {
			for _, err := range []error{nil, errRefused, nil} {
				servers.set("a", err)
				for range 10 {
					time.Sleep(time.Second)
					require.Equal(t, evenkeel.StateEjectedByHand, state(pool, "a"))
				}
			}
		}
		flap()
		assert.Greater(t, servers.probed("a"), 25, "it is probed all the same")

		// What probes have found meanwhile shows once it is restored: it was up.
		require.NoError(t, pool.Restore("a"))
		assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))

		require.NoError(t, pool.Eject("a"))
		require.NoError(t, checker.Close())
		assert.Equal(t, evenkeel.StateEjectedByHand, state(pool, "a"), "nor does Close undo it")
	})
}

func TestRestoreHoldsUntilTheNextCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet()
		servers.set("a", errRefused)
		checker := start(t, pool, servers.probe, steady)
		defer checker.Close()
		time.Sleep(2500 * time.Millisecond)
		require.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
		require.NoError(t, pool.Restore("a"))
		assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))
		time.Sleep(time.Second)
		assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
	})
}

func TestPanicShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c", "d", "hand", "drained"), newFleet()
		require.NoError(t, pool.Eject("hand"))
		require.NoError(t, pool.SetWeight("drained", 0))
		checker := start(t, pool, servers.probe, steady)
		defer checker.Close()
		servers.set("a", errRefused)
		servers.set("b", errRefused)
		servers.set("drained", errRefused)
		servers.set("hand", errRefused)
		time.Sleep(5 * time.Second)
		for _, b := range []string{"a", "b"} {
			assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, b))
			assert.False(t, stats(pool, b).Used, "half of those that could be used is not over half")
		}
		servers.set("c", errRefused)
		time.Sleep(5 * time.Second)
		for _, b := range []string{"a", "b", "c", "d"} {
			assert.True(t, stats(pool, b).Used, b)
			assert.True(t, pool.Stats().Panic, b)
		}
		assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "c"), "the verdict stays to be seen")
		assert.False(t, stats(pool, "hand").Used, "by hand holds in a panic too")
		assert.False(t, stats(pool, "drained").Used)
		servers.set("a", nil)
		time.Sleep(5 * time.Second)
		assert.False(t, pool.Stats().Panic)
		assert.False(t, stats(pool, "b").Used)
		assert.True(t, stats(pool, "a").Used)
	})
}

func TestCauseIsTheProbesError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []evenkeel.Event
		pool := newPool(t, evenkeel.Config{OnEvent: func(e evenkeel.Event) { events = append(events, e) }}, "http://u:secret@a", "b", "c")
		servers := newFleet()
		servers.set("http://u:secret@a", errRefused)
		checker := start(t, pool, servers.probe, steady)
		time.Sleep(3 * time.Second)
		require.ErrorIs(t, stats(pool, "http://u:secret@a").Cause, errRefused)
		require.NoError(t, checker.Close())
		require.Len(t, events, 2)
		require.EqualError(t, events[0].Cause, "health: probe of http://xxxxx@a: connection refused", "and names no password")
		assert.Equal(t, evenkeel.StateEjectedByHealth, events[0].To)
		assert.Equal(t, evenkeel.StateSlowStart, events[1].To)
	})
}

func TestCloseIsPromptAndIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet()
		servers.takes = time.Hour // all are under way
		checker := start(t, pool, servers.probe, health.Config{Jitter: -1, Timeout: time.Hour})
		time.Sleep(time.Second)
		_, most, _ := servers.busy("a")
		require.Equal(t, 3, most)
		began := time.Now()
		closed := make(chan error)
		for range 10 {
			go func() { closed <- checker.Close() }()
		}
		for range 10 {
			require.NoError(t, <-closed)
		}
		require.NoError(t, checker.Close())
		assert.Zero(t, time.Since(began), "no virtual time has passed")
		now, _, _ := servers.busy("a")
		assert.Zero(t, now)
		time.Sleep(time.Hour) // nothing of it is left that would panic or probe
		assert.Equal(t, 1, servers.probed("a"))
	})
	require.NoError(t, new(health.Checker).Close(), "the zero Checker was closed")
}

func TestCloseWhileNothingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		checker := start(t, newPool(t, evenkeel.Config{}), newFleet().probe, health.Config{})
		require.NoError(t, checker.Close())
		checker = start(t, newPool(t, evenkeel.Config{}, "a"), newFleet().probe, health.Config{})
		time.Sleep(3 * time.Second)
		require.NoError(t, checker.Close())
	})
}

func TestGoexitInAProbeIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, told := newPool(t, evenkeel.Config{}, "a"), &results{}
		cfg := steady
		cfg.OnResult = told.add
		checker := start(t, pool, func(context.Context, string) error { runtime.Goexit(); return nil }, cfg)
		time.Sleep(1500 * time.Millisecond)
		require.NoError(t, checker.Close())
		require.Len(t, told.of("a"), 2)
		assert.ErrorContains(t, told.of("a")[1].Err, "Goexit")
	})
}

func TestAnyBackendType(t *testing.T) {
	type node struct{ rack, slot int }
	synctest.Test(t, func(t *testing.T) {
		pool, err := evenkeel.NewPool(evenkeel.Config{}, node{1, 1}, node{1, 2}, node{2, 1})
		require.NoError(t, err)
		checker, err := health.Start(pool, health.Func[node](func(_ context.Context, n node) error {
			if n.rack == 2 {
				return errors.New("no power")
			}
			return nil
		}), steady)
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		for n, s := range pool.All() {
			assert.Equal(t, n.rack == 2, s.State == evenkeel.StateEjectedByHealth, n)
		}
		require.NoError(t, checker.Close())
	})
}

func TestBadConfigIsRefusedAtTheDoor(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a")
	ok := health.Func[string](func(context.Context, string) error { return nil })
	for _, c := range []struct {
		cfg  health.Config
		want string
	}{
		{health.Config{Interval: -1}, "evenkeel: bad config: health.Config.Interval: -1ns is negative"},
		{health.Config{Timeout: -time.Second}, "evenkeel: bad config: health.Config.Timeout: -1s is negative"},
		{health.Config{Down: -1}, "evenkeel: bad config: health.Config.Down: -1 is negative"},
		{health.Config{Up: -2}, "evenkeel: bad config: health.Config.Up: -2 is negative"},
		{health.Config{MaxProbes: -1}, "evenkeel: bad config: health.Config.MaxProbes: -1 is negative"},
		{health.Config{Jitter: 1.5}, "evenkeel: bad config: health.Config.Jitter: 1.5 is not within 0 to 1"},
		{health.Config{Jitter: math.NaN()}, "evenkeel: bad config: health.Config.Jitter: NaN is not within 0 to 1"},
	} {
		checker, err := health.Start(pool, ok, c.cfg)
		require.ErrorIs(t, err, evenkeel.ErrBadConfig)
		require.EqualError(t, err, c.want)
		assert.Nil(t, checker)
	}
	_, err := health.Start[string](nil, ok, health.Config{})
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	_, err = health.Start[string](pool, nil, health.Config{})
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	_, err = health.Start(pool, health.Func[string](nil), health.Config{})
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
}
