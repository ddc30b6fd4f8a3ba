package evenkeel_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// An answer passes a trial at once; a failure that follows is one of its own.
func TestAnsweredPassesATrial(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{}), SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B")
	failOn(t, pool, "A", 5)
	c.Advance(5 * time.Second)
	lease, err := sqf.New(pool).Lease(t.Context())
	require.NoError(t, err)
	require.Equal(t, "A", lease.Backend())
	assert.Equal(t, evenkeel.StateOnTrial, stats(pool, "A").State)
	lease.Answered()
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	lease.Done(errBroken)
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateActive, s.State, "one failure is not enough")
	assert.Equal(t, uint64(6), s.Failures)
	lbtest.RequireIdle(t, pool)
}

// An answer ends a run of failures, though its call is open.
func TestAnsweredEndsARunOfFailures(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	failOn(t, pool, "A", 4)
	stream, err := onto(pool, "A").Lease(t.Context())
	require.NoError(t, err)
	stream.Answered()
	failOn(t, pool, "A", 4)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
	stream.Release()
}

// A lease is one piece of evidence for slow start, however often it is answered and
// however it ends, and none if it is answered after its end.
func TestAnsweredCountsOnce(t *testing.T) {
	for name, lead := range map[string]func(*evenkeel.Lease[string]){
		"again and again": func(l *evenkeel.Lease[string]) { l.Answered(); l.Answered(); l.Answered() },
		"and then done":   func(l *evenkeel.Lease[string]) { l.Answered(); l.Done(nil) },
		"released":        func(l *evenkeel.Lease[string]) { l.Answered(); l.Release() },
		"after the end":   func(l *evenkeel.Lease[string]) { l.Done(nil); l.Answered() },
	} {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Successes: 100}}, "A", "B")
		c.Advance(time.Minute)
		require.NoError(t, pool.Replace("A", "B", "C"))
		floor := stats(pool, "C").Share
		step := func() *evenkeel.Lease[string] {
			lease, err := onto(pool, "C").Lease(t.Context())
			require.NoError(t, err)
			lead(&lease)
			return &lease
		}
		for range 9 {
			defer step().Release()
		}
		c.Advance(time.Second)
		assert.InDelta(t, floor, stats(pool, "C").Share, 1e-9, "%s: ten make a step", name)
		defer step().Release()
		assert.Greater(t, stats(pool, "C").Share, floor, name)
	}
}

// What a server says of its load is kept, unless it cannot be so.
func TestReports(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A")
	lease, err := sqf.New(pool).Lease(t.Context())
	require.NoError(t, err)
	assert.Zero(t, stats(pool, "A").ReportedAt)
	c.Advance(time.Second)
	lease.Report(evenkeel.Report{InFlight: 2.5})
	at := c.Now()
	c.Advance(time.Second)
	for _, bad := range []float64{-1, 2e9, math.NaN()} {
		lease.Report(evenkeel.Report{InFlight: bad})
	}
	s := stats(pool, "A")
	assert.InDelta(t, 2.5, s.Report.InFlight, 0)
	assert.Equal(t, at, s.ReportedAt)
	assert.Equal(t, uint64(1), s.Reports)
	assert.Equal(t, uint64(3), s.BadReports)
	lease.Release()
	(&evenkeel.Lease[string]{}).Report(evenkeel.Report{})
}
