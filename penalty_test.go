package evenkeel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

var ejectionOff = evenkeel.Ejection{Off: true}

// F036, F037, F092 without ejection: one of n backends fails in 100 µs, the
// others take 20 ms. By its count alone it would draw nearly every call.
func TestFailureIsNeverCheap(t *testing.T) {
	for _, n := range []int{2, 3, 5, 10} {
		for _, callers := range []int{1, 64} {
			for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
				t.Run(fmt.Sprintf("%s/n=%d/callers=%d", name, n, callers), func(t *testing.T) {
					c := newClock()
					pool := newPool(t, evenkeel.Config{Ejection: ejectionOff, Now: c.Now}, names(n)...)
					lb := comparing(t, pool, 7)[name]
					bad := names(n)[0]
					heals := 30 * time.Second
					if raceEnabled {
						heals = 6 * time.Second // the numbers are checked without it; this looks for races
					}
					serve := func(b string, at time.Duration) (time.Duration, error) {
						if b == bad && at < heals {
							return 100 * time.Microsecond, errBroken
						}
						return 20 * time.Millisecond, nil
					}
					calls, failed := closedLoop(t, c, lb, callers, heals-time.Second, serve)
					total := 0
					for _, k := range calls {
						total += k
					}
					slack := 0.003 // chance, on so many calls
					if raceEnabled {
						slack = 0.02 // fewer calls
					}
					share := float64(failed[bad]) / float64(total)
					assert.LessOrEqual(t, share, 1/float64(n)*1.03+slack, "of %d calls", total)
					assert.Greater(t, share, 0.1/float64(n), "a failing backend is still tried with ejection off")

					// Once it works it has its share again.
					heals = 0
					_, _ = closedLoop(t, c, lb, callers, 5*time.Second, serve)
					calls, _ = closedLoop(t, c, lb, callers, 20*time.Second, serve)
					total = 0
					for _, k := range calls {
						total += k
					}
					assert.InDelta(t, 1/float64(n), float64(calls[bad])/float64(total), 0.15/float64(n))
					for b, s := range pool.All() {
						assert.Zero(t, s.InFlight, b)
						assert.Zero(t, s.Penalty, b)
					}
				})
			}
		}
	}
}

// By weight too: the failing one gets no more than its weight's share.
func TestFailureIsNeverCheapByWeight(t *testing.T) {
	for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		for _, heavy := range []float64{0.25, 3} {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Ejection: ejectionOff, Now: c.Now}, names(4)...)
			bad := names(4)[0]
			require.NoError(t, pool.SetWeight(bad, heavy))
			calls, _ := closedLoop(t, c, comparing(t, pool, 3)[name], 64, 30*time.Second,
				func(b string, _ time.Duration) (time.Duration, error) {
					if b == bad {
						return 100 * time.Microsecond, errBroken
					}
					return 20 * time.Millisecond, nil
				})
			total := 0
			for _, k := range calls {
				total += k
			}
			assert.LessOrEqual(t, float64(calls[bad])/float64(total), heavy/(heavy+3)*1.05+0.005, "%s, weight %v", name, heavy)
		}
	}
}

// F001: failures leave no count behind: InFlight does not show them, and when the
// backend answers again it ties with the other.
func TestF001FailuresOnTheBooksAreNotInFlight(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Ejection: ejectionOff, Now: c.Now}, "A", "B")
	lb := comparing(t, pool, 1)["sqf"]
	for range 100 {
		call(t, lb, fails("A"))
		assert.Zero(t, pool.InFlight("A"))
		assert.Zero(t, pool.InFlight("B"))
	}
	assert.LessOrEqual(t, stats(pool, "A").Penalty, 1)

	held, err := lb.Lease(context.Background())
	require.NoError(t, err)
	for held.Backend() != "B" {
		held.Release()
		held, err = lb.Lease(context.Background())
		require.NoError(t, err)
	}
	require.NoError(t, pool.Replace("A"))
	require.NoError(t, pool.Replace("A", "B"))
	assert.Equal(t, 1, pool.InFlight("B"))
	held.Release()
	assert.Zero(t, pool.InFlight("B"))

	got := map[string]int{}
	for range 1000 {
		got[call(t, lb, ok)]++
	}
	assert.InDelta(t, 500, got["A"], 80)
}

// After an outage of all, the failures on the books do not send everything to
// whoever joins next.
func TestOutageFavoursNoNewcomer(t *testing.T) {
	for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Ejection: ejectionOff, SlowStart: evenkeel.SlowStart{Off: true}, Now: c.Now}, "A", "B", "C")
		down := true
		lb := comparing(t, pool, 4)[name]
		serve := func(b string, _ time.Duration) (time.Duration, error) {
			if down {
				return 100 * time.Microsecond, errBroken
			}
			assert.LessOrEqual(t, pool.InFlight("D"), 20, "%s: it takes the 30 callers for a moment, not all of them", name)
			return 20 * time.Millisecond, nil
		}
		closedLoop(t, c, lb, 30, time.Second, serve)
		down = false
		require.NoError(t, pool.Replace("A", "B", "C", "D"))
		calls, _ := closedLoop(t, c, lb, 30, time.Second, serve)
		assert.InDelta(t, 375, calls["D"], 75, name)
	}
}

// A burst of failures is forgotten after a while even if nothing pays it off.
func TestDebtsExpire(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Ejection: ejectionOff, Now: c.Now}, "A", "B")
	open := openLeases(t, onto(pool, "B"), 50)
	failOn(t, pool, "A", 100)
	require.Equal(t, 51, stats(pool, "A").Penalty, "one more than the busiest of the others has in flight")
	open[0](nil)
	require.Equal(t, 50, stats(pool, "A").Penalty, "each call that ends elsewhere pays one off")
	c.Advance(11 * time.Second)
	open[1](nil)
	assert.Zero(t, stats(pool, "A").Penalty)
	for _, done := range open[2:] {
		done(nil)
	}
}

// Failed calls on the books take no room under a limit.
func TestDebtsTakeNoRoom(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: ejectionOff, MaxInFlight: 1}, "A", "B")
	failOn(t, pool, "A", 3)
	lb := comparing(t, pool, 1)["sqf"]
	got := map[string]bool{}
	for range 2 {
		lease, err := lb.Lease(context.Background())
		require.NoError(t, err)
		got[lease.Backend()] = true
		defer lease.Release()
	}
	assert.Len(t, got, 2)
}

// Neither does a removed backend keep them, nor one that is ejected.
func TestDebtsEndWithTheStay(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: ejectionOff}, "A", "B")
	failOn(t, pool, "A", 3)
	require.NoError(t, pool.Eject("A"))
	assert.Zero(t, stats(pool, "A").Penalty)
	require.NoError(t, pool.Restore("A"))
	failOn(t, pool, "A", 3)
	require.NoError(t, pool.Replace("B"))
	require.NoError(t, pool.Replace("A", "B"))
	assert.Zero(t, stats(pool, "A").Penalty)
}
