package health_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/health"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// Faults that users of other balancers reported, as far as active probes have a
// part in them. Those of kinds C to G that are left out have none: F037 and F042
// (no probe enters a load), F044, F046, F047 (the ramp's own arithmetic), F052,
// F054, F064 to F067, F071, F077, F079 (ejection by outcome and its caps), F084
// and F097 (which call an outcome belongs to).

// call makes one call and reports who got it.
func call(t *testing.T, lb evenkeel.Balancer[string], do func(backend string) error) string {
	t.Helper()
	lease, err := lb.Lease(t.Context())
	require.NoError(t, err)
	defer lease.Release()
	lease.Done(do(lease.Backend()))
	return lease.Backend()
}

// F036, F092: a backend that refuses at once is the idlest of all; with ejection
// by outcome off, probes alone keep the calls away from it.
func TestF036ProbesTakeTheBlackHoleOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}}, "a", "b", "c", "d", "e")
		servers := newFleet()
		servers.set("a", errRefused)
		cfg := steady
		cfg.Down = 2
		checker := start(t, pool, servers.probe, cfg)
		defer checker.Close()
		time.Sleep(1500 * time.Millisecond) // two probes
		lb, failed := sqf.New(pool), atomic.Int32{}
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				for range 300 { // a minute of calls
					_ = evenkeel.Do(t.Context(), lb, func(_ context.Context, b string) error {
						if b == "a" {
							failed.Add(1)
							return errRefused
						}
						time.Sleep(200 * time.Millisecond)
						return nil
					})
				}
			})
		}
		callers.Wait()
		assert.Zero(t, failed.Load())
	})
}

// F039: a probe that is refused at once has failed, however quick it was; one
// that passes slowly has passed.
func TestF039AQuickFailureIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, told := newPool(t, evenkeel.Config{}, "a", "b"), &results{}
		cfg := steady
		cfg.OnResult = told.add
		checker := start(t, pool, func(_ context.Context, backend string) error {
			if backend == "a" {
				time.Sleep(50 * time.Microsecond)
				return errRefused
			}
			time.Sleep(2 * time.Millisecond)
			return nil
		}, cfg)
		defer checker.Close()
		time.Sleep(2500 * time.Millisecond)
		lb := sqf.New(pool)
		for range 100 {
			assert.Equal(t, "b", call(t, lb, func(string) error { return nil }))
		}
		assert.Equal(t, 50*time.Microsecond, told.of("a")[0].Took)
		assert.Equal(t, 2*time.Millisecond, told.of("b")[0].Took)
	})
}

// F041, F076: a probe that hangs, deaf to its context, after a first good result:
// the good result goes stale, the others are probed on, and Close returns. Its
// late end counts for nothing (F072), and then it is probed again.
func TestF041AHungProbe(t *testing.T) {
	for _, deaf := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			pool, told, probes, release := newPool(t, evenkeel.Config{}, "a", "b", "c"), &results{}, map[string]int{}, make(chan struct{})
			var mu sync.Mutex
			probe := func(ctx context.Context, backend string) error {
				mu.Lock()
				probes[backend]++
				n := probes[backend]
				mu.Unlock()
				if backend != "a" || n == 1 {
					return nil
				}
				if deaf {
					<-release
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
			cfg := steady
			cfg.MaxProbes, cfg.Timeout, cfg.OnResult = 1, 400*time.Millisecond, told.add // it holds the only place
			checker := start(t, pool, probe, cfg)
			time.Sleep(500 * time.Millisecond)
			require.Equal(t, evenkeel.StateActive, state(pool, "a"))
			time.Sleep(5 * time.Second)
			assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
			time.Sleep(55*time.Second + 250*time.Millisecond)
			mu.Lock()
			assert.InDelta(t, 60, probes["b"], 2)
			assert.InDelta(t, 60, probes["c"], 2)
			a := probes["a"]
			mu.Unlock()
			if !deaf {
				assert.InDelta(t, 60, a, 2)
				require.NoError(t, checker.Close())
				return
			}
			assert.Equal(t, 2, a, "one probe at a time")
			assert.InDelta(t, 60, len(told.of("a")), 2, "and yet it counts once an interval")
			require.ErrorContains(t, stats(pool, "a").Cause, "has not ended after")

			before := len(told.of("a"))
			close(release)
			synctest.Wait()
			late := told.of("a")[before:]
			require.Len(t, late, 1, "the late success counts for nothing; a new probe is made at once")
			assert.Equal(t, 1, late[0].Streak)
			assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
			time.Sleep(1100 * time.Millisecond)
			assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))
			require.NoError(t, checker.Close())
		})
	}
}

// F041: Close returns within a second although a probe is deaf to its context,
// names it, and says so again until it has ended.
func TestF041CloseDoesNotWaitForADeafProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		pool := newPool(t, evenkeel.Config{}, "a", "b")
		checker := start(t, pool, func(_ context.Context, backend string) error {
			if backend == "a" {
				<-release
			}
			return nil
		}, steady)
		time.Sleep(10 * time.Second)
		began := time.Now()
		require.EqualError(t, checker.Close(), "health: closed, but a probe still runs 500ms after its context ended, of a; a Func must obey its context")
		assert.Less(t, time.Since(began), time.Second)
		assert.NotEqual(t, evenkeel.StateEjectedByHealth, state(pool, "a"), "the verdicts are withdrawn all the same")
		require.Error(t, checker.Close())
		close(release)
		synctest.Wait()
		require.NoError(t, checker.Close())
	})
}

// F041, F072: a backend that leaves and returns while its old probe hangs is not
// probed twice at a time, and does not stay in on the word of a probe that hangs.
func TestF072AHungProbeOutlivesABlip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, begun atomic.Int32
		release := make(chan struct{})
		pool := newPool(t, evenkeel.Config{}, "a", "b", "c")
		checker := start(t, pool, func(_ context.Context, backend string) error {
			if backend == "a" {
				begun.Add(1)
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				<-release
			}
			return nil
		}, steady)
		time.Sleep(500 * time.Millisecond)
		for range 3 {
			require.NoError(t, pool.Replace("b", "c"))
			time.Sleep(1100 * time.Millisecond)
			require.NoError(t, pool.Replace("a", "b", "c"))
			time.Sleep(1100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		assert.Equal(t, int32(1), begun.Load())
		assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
		close(release)
		time.Sleep(5 * time.Second)
		assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))
		assert.Equal(t, int32(1), most.Load())
		require.NoError(t, checker.Close())
	})
}

// F049, F051 (c): a backend that flaps starts slowly each time it is back, counted
// from then, and is never at full share.
func TestF051AFlappingBackendStaysAtTheLowEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet()
		cfg := steady
		cfg.Interval, cfg.Down, cfg.Up = 250*time.Millisecond, 1, 1
		checker := start(t, pool, servers.probe, cfg)
		defer checker.Close()
		lb := sqf.New(pool)
		servers.set("a", errRefused)
		time.Sleep(time.Hour) // the pool is old, but a's return is not
		for range 30 {
			servers.set("a", nil)
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				call(t, lb, func(string) error { return nil })
				if s := stats(pool, "a"); s.State == evenkeel.StateSlowStart {
					require.LessOrEqual(t, s.Share, 0.2)
				} else {
					require.Equal(t, evenkeel.StateEjectedByHealth, s.State)
				}
			}
			servers.set("a", errRefused)
			time.Sleep(time.Second)
		}
	})
}

// F051 (a): the first backend of an empty set is neither held back nor refused.
func TestF051TheFirstBackendOfAnEmptySet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{})
		checker := start(t, pool, newFleet().probe, steady)
		defer checker.Close()
		time.Sleep(time.Minute)
		require.NoError(t, pool.Replace("a"))
		lb := sqf.New(pool)
		for range 100 {
			require.Equal(t, "a", call(t, lb, func(string) error { return nil }))
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, evenkeel.StateActive, state(pool, "a"))
	})
}

// F056: when all fail at one moment nobody hears "nothing healthy".
func TestF056AllDownAtOnceAreAllUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		servers := newFleet()
		for i := range 8 {
			names = append(names, fmt.Sprint("s", i))
			servers.set(names[i], errRefused)
		}
		pool := newPool(t, evenkeel.Config{}, names...)
		checker := start(t, pool, servers.probe, steady)
		defer checker.Close()
		lb, got := roundrobin.New(pool), map[string]int{}
		for range 1000 { // before, while and after the verdicts fall
			got[call(t, lb, func(string) error { return nil })]++
			time.Sleep(10 * time.Millisecond)
		}
		for _, name := range names {
			assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, name))
			assert.True(t, pool.Stats().Panic)
			assert.Greater(t, got[name], 70, name)
		}
	})
}

// F057, F086: a member with weight 0 is no second server. The only one that can be
// used stays in use although its probes fail.
func TestF057TheOnlyUsableBackendStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b"), newFleet()
		require.NoError(t, pool.SetWeight("b", 0))
		servers.set("a", errRefused)
		cfg := steady
		cfg.Down = 1
		checker := start(t, pool, servers.probe, cfg)
		defer checker.Close()
		lb := sqf.New(pool)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			assert.Equal(t, "a", call(t, lb, func(string) error { return nil }))
		}
		assert.True(t, pool.Stats().Panic)
	})
}

// F059: a verdict is no latch. It is lifted by probes that pass, by Restore, and
// by Close: without a checker nobody could find the backend up again.
func TestF059NoVerdictOutlivesItsChecker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b", "c"), newFleet()
		servers.set("a", errRefused)
		servers.set("b", errRefused)
		for range 3 { // one checker after another
			checker := start(t, pool, servers.probe, steady)
			time.Sleep(5 * time.Second)
			require.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
			require.NoError(t, checker.Close())
			for _, b := range []string{"a", "b"} {
				require.NotEqual(t, evenkeel.StateEjectedByHealth, state(pool, b))
				require.True(t, stats(pool, b).Used)
			}
		}
	})
}

// F061: the count starts anew after each return: out again after just as many
// failures, three times.
func TestF061TheCountStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers, told := newPool(t, evenkeel.Config{}, "a", "b"), newFleet(), &results{}
		cfg := steady
		cfg.OnResult = told.add
		checker := start(t, pool, servers.probe, cfg)
		time.Sleep(500 * time.Millisecond)
		for range 3 {
			servers.set("a", errRefused)
			time.Sleep(7 * time.Second)
			servers.set("a", nil)
			time.Sleep(7 * time.Second)
		}
		require.NoError(t, checker.Close())
		var changes []int // the number of failures, or passes, at each
		for _, r := range told.of("a") {
			if r.Changed {
				changes = append(changes, r.Streak)
			}
		}
		assert.Equal(t, []int{3, 2, 3, 2, 3, 2}, changes)
	})
}

// F062, F094, F096: a probe that was cancelled, by Close or because its backend
// left, counts neither way.
func TestF094ACancelledProbeCountsNeitherWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events atomic.Int32
		pool := newPool(t, evenkeel.Config{OnEvent: func(evenkeel.Event) { events.Add(1) }}, "a", "b")
		told := &results{}
		for range 20 {
			servers := newFleet()
			servers.takes = 30 * time.Second
			checker := start(t, pool, servers.probe, health.Config{Jitter: -1, Timeout: time.Minute, Down: 1, OnResult: told.add})
			time.Sleep(time.Second)
			require.NoError(t, checker.Close())
		}
		assert.Empty(t, told.list)
		assert.Zero(t, events.Load())
		assert.Equal(t, evenkeel.StateActive, state(pool, "a"))
	})
}

// F069: the health URL always answers, the calls always fail. Each ejection by
// outcome lasts its time; no probe ends it early.
func TestF069OutcomesWinUntilTheirTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, early, times := time.Time{}, 0, 0
		until := time.Time{}
		cfg := evenkeel.Config{OnEvent: func(e evenkeel.Event) {
			switch {
			case e.To == evenkeel.StateEjectedByOutcome:
				out, until = e.At, e.Until
				times++
			case e.From == evenkeel.StateEjectedByOutcome:
				if e.At.Before(until) {
					early++
				}
				require.False(t, out.IsZero())
			}
		}}
		cfg.Ejection.Base = time.Minute
		cfg.Ejection.Max = time.Minute
		cfg.Ejection.Jitter = -1
		pool, servers := newPool(t, cfg, "a", "b", "c"), newFleet()
		fast := steady
		fast.Up, fast.Interval = 1, 100*time.Millisecond
		checker := start(t, pool, servers.probe, fast)
		defer checker.Close()
		lb, failed := sqf.New(pool), 0
		for range 60_000 { // ten minutes
			call(t, lb, func(b string) error {
				if b == "a" {
					failed++
					return errRefused
				}
				return nil
			})
			time.Sleep(10 * time.Millisecond)
		}
		assert.Zero(t, early)
		assert.InDelta(t, 10, times, 1)
		assert.LessOrEqual(t, failed, 5+times, "five for the first ejection, then one for each trial")
		assert.Greater(t, servers.probed("a"), 5000)
	})
}

// F069, the other way about: probes that flap while an ejection by outcome lasts
// neither shorten it nor end it, and one that is down at its end keeps it out.
func TestF069FlappingProbesDoNotShortenAnEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := evenkeel.Config{}
		cfg.Ejection.Base, cfg.Ejection.Jitter = 20*time.Second, -1
		pool, servers := newPool(t, cfg, "a", "b", "c"), newFleet()
		lb := sqf.New(pool)
		for state(pool, "a") != evenkeel.StateEjectedByOutcome {
			call(t, lb, func(b string) error {
				if b == "a" {
					return errRefused
				}
				return nil
			})
		}
		until := stats(pool, "a").Until
		one := steady
		one.Down, one.Up = 1, 1
		checker := start(t, pool, servers.probe, one)
		defer checker.Close()
		for i := range 20 {
			servers.set("a", map[bool]error{true: errRefused}[i%2 == 0])
			time.Sleep(time.Second)
			require.False(t, stats(pool, "a").Used)
			if s := stats(pool, "a"); s.State == evenkeel.StateEjectedByOutcome {
				require.Equal(t, until, s.Until)
			}
		}
		servers.set("a", errRefused)
		time.Sleep(time.Minute)
		for range 10 { // its time is over, but it is down: no caller is spent on a trial
			require.NotEqual(t, "a", call(t, lb, func(string) error { return nil }))
		}
		servers.set("a", nil)
		time.Sleep(2 * time.Second)
		assert.Equal(t, evenkeel.StateOnTrial, state(pool, "a"))
		require.Equal(t, "a", call(t, lb, func(string) error { return nil }))
		assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a"))
	})
}

// F081: weights survive the round trip.
func TestF081WeightsSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "a", "b", "c")
		require.NoError(t, pool.SetWeight("a", 10))
		servers := newFleet()
		servers.set("a", errRefused)
		servers.set("c", errRefused)
		checker := start(t, pool, servers.probe, health.Config{Interval: time.Second, Jitter: -1})
		defer checker.Close()
		require.NoError(t, pool.Eject("c"))
		time.Sleep(5 * time.Second)
		require.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a"))
		servers.set("a", nil)
		time.Sleep(5 * time.Second)
		lb, got := roundrobin.New(pool), map[string]int{}
		for range 1100 {
			got[call(t, lb, func(string) error { return nil })]++
		}
		assert.Equal(t, map[string]int{"a": 1000, "b": 100}, got)
	})
}

// F082: probes that pass give a member with weight 0 no calls.
func TestF082WeightZeroStaysDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b"), newFleet()
		require.NoError(t, pool.SetWeight("a", 0))
		checker := start(t, pool, servers.probe, steady)
		defer checker.Close()
		lb := sqf.New(pool)
		for _, err := range []error{nil, errRefused, nil} {
			servers.set("a", err)
			for range 6 {
				time.Sleep(time.Second)
				require.Equal(t, "b", call(t, lb, func(string) error { return nil }))
				require.Equal(t, evenkeel.StateDrained, state(pool, "a"))
				require.Zero(t, stats(pool, "a").Weight)
			}
		}
		assert.Greater(t, servers.probed("a"), 15)
		require.NoError(t, pool.SetWeight("a", 1))
		assert.NotEqual(t, evenkeel.StateEjectedByHealth, state(pool, "a"), "it had passed again")
	})
}

// F086: one odd probe marks nobody down.
func TestF086OneOddProbeMarksNobodyDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events atomic.Int32
		pool := newPool(t, evenkeel.Config{OnEvent: func(evenkeel.Event) { events.Add(1) }}, "a")
		servers := newFleet()
		checker := start(t, pool, servers.probe, steady)
		defer checker.Close()
		time.Sleep(500 * time.Millisecond)
		for range 20 {
			servers.set("a", errRefused)
			time.Sleep(2 * time.Second)
			servers.set("a", nil)
			time.Sleep(time.Second)
		}
		assert.Zero(t, events.Load())
	})
}

// F089: whatever kind of error a probe fails with, it is not taken for recovery.
func TestF089EveryKindOfFailureKeepsItOut(t *testing.T) {
	network := &pipes{}
	fail := func(err error) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	serve := func(raw string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, n, address string) (net.Conn, error) {
			p := &pipes{serve: answer(raw, nil)}
			return p.dial(ctx, n, address)
		}
	}
	network.serve = func(conn net.Conn) { _ = conn.Close() }
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"refused":     fail(&net.OpError{Op: "dial", Err: errRefused}),
		"name":        fail(&net.DNSError{Err: "no such host", Name: "a", IsNotFound: true}),
		"timeout":     fail(context.DeadlineExceeded),
		"cancel":      fail(context.Canceled), // it was not us who cancelled
		"closed":      network.dial,
		"malformed":   serve("HTTP/9 ?\r\n\r\n"),
		"not HTTP":    serve("SSH-2.0-OpenSSH_9.9\r\n"),
		"TLS":         serve("\x15\x03\x01\x00\x02\x02\x50"), // an alert
		"half a head": serve("HTTP/1.1 200 OK\r\nContent-"),
		"bad gateway": serve("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
		"broken body": serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), // F099
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var good atomic.Bool
				fine := &pipes{serve: answer(okay, nil)}
				pool := newPool(t, evenkeel.Config{}, "a:1", "b:1", "c:1")
				checker, err := health.Start(pool, health.HTTP[string]{Dial: func(ctx context.Context, n, address string) (net.Conn, error) {
					if address == "a:1" && !good.Load() {
						return dial(ctx, n, address)
					}
					return fine.dial(ctx, n, address)
				}}, steady)
				require.NoError(t, err)
				time.Sleep(10 * time.Second)
				assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, "a:1"))
				assert.Equal(t, evenkeel.StateActive, state(pool, "b:1"))
				require.Error(t, stats(pool, "a:1").Cause)
				good.Store(true)
				time.Sleep(5 * time.Second)
				assert.Equal(t, evenkeel.StateSlowStart, state(pool, "a:1"))
				require.NoError(t, checker.Close())
				synctest.Wait()
			})
		})
	}
}

// F091: a verdict is keyed by the member itself, whatever form its address has;
// two forms of one address are two members, and each has its own.
func TestF091OneKeyPerMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forms := []string{"h:80", "H:80", "h", "[::1]:80", "h.:80", "http://h", "http://h:80/"}
		network := &pipes{serve: answer("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n", nil)}
		told := &results{}
		pool := newPool(t, evenkeel.Config{PanicShare: 1}, forms...)
		cfg := steady
		cfg.Down, cfg.OnResult = 1, told.add
		checker, err := health.Start(pool, health.HTTP[string]{Dial: network.dial}, cfg)
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		for _, form := range forms {
			require.Len(t, told.of(form), 1, form)
			require.ErrorContains(t, told.of(form)[0].Err, "status 500", form)
			assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, form), form)
		}
		require.NoError(t, checker.Close())
		network.wg.Wait()
	})
}

// F157: probes that fail at once leave nothing behind.
func TestF157FailingAtOnceLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, servers := newPool(t, evenkeel.Config{}, "a", "b"), newFleet()
		servers.set("a", errRefused)
		cfg := steady
		cfg.Interval = time.Millisecond
		checker := start(t, pool, servers.probe, cfg)
		defer checker.Close()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		before := runtime.NumGoroutine()
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Less(t, runtime.NumGoroutine(), before+20, "the runtime may have started some of its own")
		assert.Greater(t, servers.probed("a"), 1000)
	})
}

// F164: Close at any time, while the membership changes in a tight loop.
func TestF164CloseWhileThePoolChanges(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a", "b", "c")
	done, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = pool.Replace([]string{"a", "b", "c", "d", "e"}[i%4:]...)
		}
	}()
	for range 40 {
		servers := newFleet()
		servers.set("c", errRefused)
		checker, err := health.Start(pool, health.Func[string](servers.probe), health.Config{Interval: 20 * time.Microsecond, Down: 1, Up: 1})
		require.NoError(t, err)
		for servers.probed("c") == 0 {
			runtime.Gosched()
		}
		require.NoError(t, checker.Close())
		after := servers.probed("c")
		runtime.Gosched()
		require.Equal(t, after, servers.probed("c"), "nothing is probed after Close")
	}
	close(stop)
	<-done
	require.NoError(t, pool.Replace("a", "b", "c", "d", "e"))
	for b, s := range pool.All() {
		assert.NotEqual(t, evenkeel.StateEjectedByHealth, s.State, b)
	}
}

// F166: what a callback may do: read and change the pool. Close within one does
// not hang either, but says that it could not wait.
func TestF166CallbacksMayChangeThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pool *evenkeel.Pool[string]
		var checker atomic.Pointer[health.Checker]
		events, refused := 0, error(nil)
		pool = newPool(t, evenkeel.Config{OnEvent: func(e evenkeel.Event) {
			events++
			assert.Equal(t, e.To, state(pool, e.Backend.(string)))
			if e.To == evenkeel.StateEjectedByHealth {
				assert.NoError(t, pool.Replace("a", "b", "c", "d"))
			}
		}}, "a", "b", "c")
		servers := newFleet()
		servers.set("a", errRefused)
		cfg := steady
		cfg.OnResult = func(r health.Result) {
			if r.Backend == "d" && refused == nil {
				assert.NoError(t, pool.Eject("d"))
				refused = checker.Load().Close()
			}
		}
		checker.Store(start(t, pool, servers.probe, cfg))
		time.Sleep(time.Minute)
		require.NoError(t, checker.Load().Close())
		require.ErrorContains(t, refused, "do not call Close within them")
		assert.Equal(t, evenkeel.StateEjectedByHand, state(pool, "d"))
		assert.Positive(t, events)
	})
}

// A probe that fails now and then, on top of everything else: no verdict is ever
// other than the thresholds say (a model, checked at each result).
func TestVerdictsFollowTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bits := uint64(0x9e3779b97f4a7c15)
		flip := func() bool { bits ^= bits << 13; bits ^= bits >> 7; bits ^= bits << 17; return bits&3 != 0 }
		var mu sync.Mutex
		good, bad, up, n := map[any]int{}, map[any]int{}, map[any]bool{"a": true, "b": true, "c": true}, 0
		cfg := steady
		cfg.OnResult = func(r health.Result) {
			b := r.Backend
			n++
			if r.Err == nil {
				good[b], bad[b] = good[b]+1, 0
			} else {
				good[b], bad[b] = 0, bad[b]+1
			}
			was := up[b]
			if up[b] && bad[b] == 3 {
				up[b] = false
			} else if !up[b] && good[b] == 2 {
				up[b] = true
			}
			assert.Equal(t, up[b], r.Up)
			assert.Equal(t, was != up[b], r.Changed)
		}
		pool := newPool(t, evenkeel.Config{}, "a", "b", "c")
		checker := start(t, pool, func(context.Context, string) error {
			mu.Lock()
			defer mu.Unlock()
			if flip() {
				return nil
			}
			return errors.New("now and then")
		}, cfg)
		time.Sleep(time.Hour)
		require.NoError(t, checker.Close())
		assert.Greater(t, n, 10_000)
	})
}

// F186: a backend that joins a pool in use gets no call before a probe has passed.
func TestF186NewcomersWaitForTheirFirstProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, trusted := range []bool{false, true} {
			pool, servers := newPool(t, evenkeel.Config{}, "a", "b"), newFleet()
			servers.set("c", errRefused)
			cfg := steady
			cfg.TrustNewcomers = trusted
			checker := start(t, pool, servers.probe, cfg)
			time.Sleep(30 * time.Second)
			require.NoError(t, pool.Replace("a", "b", "c"))
			lb := sqf.New(pool)
			calls := 0
			for range 200 {
				lease, err := lb.Lease(t.Context())
				require.NoError(t, err)
				if lease.Backend() == "c" {
					calls++
				}
				lease.Done(nil)
				time.Sleep(5 * time.Millisecond)
			}
			if trusted {
				assert.Positive(t, calls)
			} else {
				assert.Zero(t, calls)
				servers.set("c", nil)
				time.Sleep(2 * time.Second)
				assert.Equal(t, evenkeel.StateSlowStart, state(pool, "c"))
			}
			require.NoError(t, checker.Close())
		}
	})
}
