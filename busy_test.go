package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// F182: a backend that refuses in no time draws at most its fair share, and none while it
// asks for a pause; it is never ejected for that.
func TestF182RefusalsDoNotAttract(t *testing.T) {
	for name := range comparing(t, newPool(t, evenkeel.Config{}, "x"), 1) {
		for _, pause := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprint(name, " ", pause), func(t *testing.T) {
				c := newClock()
				pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, "A", "B", "C")
				calls, _ := closedLoop(t, c, comparing(t, pool, 3)[name], 12, 20*time.Second, func(b string, _ time.Duration) (time.Duration, error) {
					if b == "A" {
						return 100 * time.Microsecond, &evenkeel.BusyError{RetryAfter: pause}
					}
					return 50 * time.Millisecond, nil
				})
				s := stats(pool, "A")
				assert.Zero(t, s.Ejections)
				if pause == 0 {
					assert.Less(t, calls["A"], sum(calls)/2)
					assert.Equal(t, evenkeel.StateActive, s.State)
				} else {
					assert.LessOrEqual(t, calls["A"], 12, "those that were under way")
					assert.Equal(t, evenkeel.StatePaused, s.State)
					assert.LessOrEqual(t, s.Until.Sub(c.Now()), 30*time.Second, "however long it asks for")
					c.Advance(30 * time.Second)
					assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
				}
			})
		}
	}
}

// F182: when all ask for a pause all are used.
func TestF182AllBusy(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, "A", "B", "C")
	lb := sqf.New(pool)
	got := map[string]int{}
	for range 300 {
		c.Advance(time.Millisecond)
		got[call(t, lb, func(string) error { return &evenkeel.BusyError{RetryAfter: time.Minute} })]++
	}
	assert.Len(t, got, 3)
	for b, s := range pool.All() {
		assert.True(t, s.Used, b)
		assert.Equal(t, evenkeel.StatePaused, s.State, b)
	}
}

// A trial that is refused because the backend is busy shows that the backend is alive.
func TestBusyTrialLetsIn(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Seed: 1}, "A", "B")
	failOn(t, pool, "A", 5)
	trial(t, c, pool, "A", &evenkeel.BusyError{})
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "A").State)
}

// F183: what this process is short of counts against nobody.
func TestF183OwnShortages(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, names(8)...)
	lb := sqf.New(pool)
	limiter := newPool(t, evenkeel.Config{MaxInFlight: 1}, "limiter")
	full := hold(t, limiter, "limiter")
	defer full.Release()
	_, local := sqf.New(limiter).Lease(context.Background())
	for _, err := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL, local,
	} {
		for range 40 {
			call(t, lb, func(string) error { return fmt.Errorf("dial: %w", err) })
		}
	}
	for b, s := range pool.All() {
		assert.Equal(t, evenkeel.StateActive, s.State, b)
		assert.Zero(t, s.Failures, b)
	}
}

// What an error means can be said in place, and the error stays what it was.
func TestNotItsFault(t *testing.T) {
	errNoRows := errors.New("no rows")
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	lb := sqf.New(pool)
	for range 100 {
		err := evenkeel.Do(context.Background(), lb, func(context.Context, string) error {
			return evenkeel.NotItsFault(errNoRows)
		})
		require.ErrorIs(t, err, errNoRows)
		require.EqualError(t, err, "no rows")
	}
	for b, s := range pool.All() {
		assert.Zero(t, s.Failures, b)
		assert.Equal(t, s.Calls, s.Successes, b)
	}
	assert.NoError(t, evenkeel.NotItsFault(nil))
}
