package evenkeel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func everyPolicy(t *testing.T, pool *evenkeel.Pool[string]) map[string]evenkeel.Balancer[string] {
	t.Helper()
	two, err := p2c.NewWith(pool, p2c.Config{Seed: 5})
	require.NoError(t, err)
	return map[string]evenkeel.Balancer[string]{
		"p2c": two, "sqf": must(sqf.NewWith(pool, sqf.Config{Seed: 5})),
		"roundrobin": must(roundrobin.NewWith(pool, roundrobin.Config{Seed: 5})),
		"random":     must(random.NewWith(pool, random.Config{Seed: 5})),
	}
}

// Every policy gives a newcomer a small share that rises to the full one.
func TestEveryPolicyRamps(t *testing.T) {
	for name := range everyPolicy(t, newPool(t, evenkeel.Config{}, "x")) {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B", "C", "D")
			c.Advance(time.Minute)
			require.NoError(t, pool.Replace("A", "B", "C", "D", "E"))
			lb := everyPolicy(t, pool)[name]
			for b, s := range pool.All() {
				if b == "E" {
					assert.Equal(t, evenkeel.StateSlowStart, s.State)
					assert.InDelta(t, 0.1, s.Share, 1e-9)
				} else {
					assert.Equal(t, evenkeel.StateActive, s.State)
				}
			}
			shares := []float64{}
			for stats(pool, "E").State == evenkeel.StateSlowStart {
				c.Advance(time.Second) // a step of time, then calls: both are needed
				before := stats(pool, "E").Share
				require.Equal(t, before, stats(pool, "E").Share, "time alone changes nothing")
				hits, calls := 0, 0
				for stats(pool, "E").Share == before {
					if call(t, lb, ok) == "E" {
						hits++
					}
					calls++
					require.Less(t, calls, 10000)
				}
				shares = append(shares, float64(hits)/float64(calls))
			}
			require.Len(t, shares, 10)
			hits := 0
			for range 5000 {
				if call(t, lb, ok) == "E" {
					hits++
				}
			}
			assert.InDelta(t, 1000, hits, 120)
		})
	}
}

// The share grows with successes seen and not with the clock alone, nor with
// successes alone.
func TestRampNeedsTimeAndSuccesses(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: ejectionOff}, "A")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B"))
	only := onto(pool, "B")
	c.Advance(time.Hour)
	assert.InDelta(t, 0.1, stats(pool, "B").Share, 1e-9)
	for range 1000 {
		call(t, only, ok)
	}
	assert.InDelta(t, 0.19, stats(pool, "B").Share, 1e-9, "one step: the time of a step has passed, for the first")
	c.Advance(time.Second)
	assert.InDelta(t, 0.28, stats(pool, "B").Share, 1e-9, "its successes are there already")
	for range 100 {
		call(t, only, fails("B"))
		c.Advance(time.Second)
	}
	assert.InDelta(t, 0.28, stats(pool, "B").Share, 1e-9, "failures do not help")
}

// F042: a newcomer that is slow never has more than twice its peers' calls in flight.
func TestF042NoStampede(t *testing.T) {
	for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B", "C", "D")
		c.Advance(time.Minute)
		require.NoError(t, pool.Replace("A", "B", "C", "D", "E"))
		lb := comparing(t, pool, 9)[name]
		closedLoop(t, c, lb, 40, 5*time.Second, func(b string, _ time.Duration) (time.Duration, error) {
			peers := 0
			for _, p := range []string{"A", "B", "C", "D"} {
				peers += pool.InFlight(p)
			}
			assert.LessOrEqual(t, float64(pool.InFlight("E")), 2*float64(peers)/4+1, name)
			if b == "E" {
				return 200 * time.Millisecond, nil
			}
			return 20 * time.Millisecond, nil
		})
	}
}

// F044, F049, F051: who is new is counted from its own beginning, and nobody is
// held back when all are new.
func TestF049F051Epochs(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A")
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State, "at the start all are new")
	c.Advance(time.Hour)
	require.NoError(t, pool.Replace("A", "B"))
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "B").State)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)

	pool = newPool(t, evenkeel.Config{Now: c.Now})
	require.NoError(t, pool.Replace("A"))
	for range 100 {
		assert.Equal(t, "A", call(t, p2c.New(pool), ok))
	}
	require.NoError(t, pool.Replace("B", "C", "D"))
	got := map[string]int{}
	lb := must(sqf.NewWith(pool, sqf.Config{Seed: 1}))
	for range 3000 {
		got[call(t, lb, ok)]++
	}
	for _, b := range []string{"B", "C", "D"} {
		assert.InDelta(t, 1000, got[b], 150, b)
	}

	for range 20 { // one that flaps stays at the low end
		require.NoError(t, pool.Replace("C", "D"))
		require.NoError(t, pool.Replace("B", "C", "D"))
		for range 20 {
			call(t, onto(pool, "B"), ok)
		}
		c.Advance(time.Second)
		assert.LessOrEqual(t, stats(pool, "B").Share, 0.2)
	}
}

// F046: when a tiny share ends, turns that were far off do not stay so.
func TestF046NoStarvationAfterwards(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Floor: 0.001, Successes: 1}}, "A")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B"))
	lb := roundrobin.New(pool)
	for range 100 {
		call(t, lb, ok)
	}
	for range 20 {
		c.Advance(time.Minute)
		call(t, onto(pool, "B"), ok)
	}
	require.Equal(t, evenkeel.StateActive, stats(pool, "B").State)
	got := map[string]int{}
	for range 1000 {
		got[call(t, lb, ok)]++
	}
	assert.Equal(t, map[string]int{"A": 500, "B": 500}, got)
}

// F047: whatever the options, the share is within the floor and 1.
func TestF047ShareIsBounded(t *testing.T) {
	for _, floor := range []float64{1e-300, 0.1, 1} {
		for _, window := range []time.Duration{1, time.Hour} {
			for _, step := range []time.Duration{0, 1, time.Hour} {
				c := newClock()
				pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Floor: floor, Window: window, Successes: 1}}, "A")
				c.Advance(time.Minute)
				require.NoError(t, pool.Replace("A", "B"))
				for range 30 {
					s := stats(pool, "B")
					require.Greater(t, s.Share, 0.0)
					require.GreaterOrEqual(t, s.Share, floor)
					require.LessOrEqual(t, s.Share, 1.0)
					call(t, onto(pool, "B"), ok)
					call(t, sqf.New(pool), ok)
					c.Advance(step)
				}
			}
		}
	}
}

// A backend that is back from an ejection ramps too; with nobody at full share
// beside it there is no one to spare it.
func TestRampAfterEjection(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	failOn(t, pool, "A", 5)
	trial(t, c, pool, "A", nil)
	assert.InDelta(t, 0.1, stats(pool, "A").Share, 1e-9)
	assert.InDelta(t, 1, stats(pool, "B").Share, 1e-9)
	require.NoError(t, pool.SetHealth("B", errBroken))
	require.NoError(t, pool.SetHealth("B", nil))
	assert.InDelta(t, stats(pool, "A").Share, stats(pool, "B").Share, 1e-9, "both are back: neither is held back for the other")
}

func TestSlowStartOff(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Off: true}}, "A")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B"))
	assert.Equal(t, evenkeel.StateActive, stats(pool, "B").State)
	failOn(t, pool, "B", 5)
	trial(t, c, pool, "B", nil)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "B").State)
}

// Calls that only ever release, without a word, still let a newcomer rise.
func TestReleaseLetsRise(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B"))
	for range 100 {
		lease, err := onto(pool, "B").Lease(context.Background())
		require.NoError(t, err)
		lease.Release()
		c.Advance(time.Second)
	}
	assert.Equal(t, evenkeel.StateActive, stats(pool, "B").State, fmt.Sprint(stats(pool, "B").Share))
}

// The one backend that is up again is not held back for those that are down, when
// all are used because the checks took too many.
func TestPanicHoldsNobodyBack(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	for _, b := range []string{"A", "B", "C"} {
		require.NoError(t, pool.SetHealth(b, errBroken))
	}
	require.NoError(t, pool.SetHealth("A", nil))
	assert.InDelta(t, 1, stats(pool, "A").Share, 1e-9)
}

// A backend with little traffic does not rise by the clock: each step needs its
// share of the successes too.
func TestRampNeedsAllItsSuccesses(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: ejectionOff}, "A")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B"))
	only := onto(pool, "B")
	for range 4 { // of the 5 that a tenth of SlowStart.Successes is
		c.Advance(time.Minute)
		call(t, only, ok)
	}
	assert.InDelta(t, 0.1, stats(pool, "B").Share, 1e-9)
	call(t, only, ok)
	assert.InDelta(t, 0.19, stats(pool, "B").Share, 1e-9)
}
