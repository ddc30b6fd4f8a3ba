package evenkeel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func (f *fleet) slowness(backend string) float64 { return stats(f.Pool, backend).Slowness }

// round makes so many calls on each backend, all as quick, but slow's take d.
func (f *fleet) round(n int, slow string, d time.Duration) {
	for range n {
		for b := range f.All() {
			took := 10 * ms
			if b == slow {
				took = d
			}
			f.serve(b, 1, took)
		}
	}
}

// A backend that takes longer is worth that much less, by a power of two; equal ones and
// ones that differ by less than two are not reordered.
func TestSlowness(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c", "d")
	f.round(40, "d", 19*ms)
	for b := range f.All() {
		assert.Equal(t, 1., f.slowness(b), b)
	}
	f.round(40, "d", 50*ms)
	for _, b := range []string{"a", "b", "c"} {
		assert.Equal(t, 1., f.slowness(b), b)
		assert.Zero(t, f.load(b))
	}
	assert.Equal(t, 2., f.slowness("d"), "ln 5 by samples that weigh 16 of 21 is 2^1.8")
	assert.Equal(t, 1., f.load("d"), "(0+1) x 2 - 1")
	lease := f.begin("d")
	assert.Equal(t, 3., f.load("d"))
	lease.Done(nil)

	lb := sqf.New(f.Pool)
	for range 50 {
		backend, err := lb.Pick()
		require.NoError(t, err)
		assert.NotEqual(t, "d", backend)
	}
	f.round(60, "", 0)
	assert.Equal(t, 1., f.slowness("d"), "it has healed")
}

// A latency counts by the queue that it had to go through: a busy backend is not slow.
func TestSlownessIsNotQueue(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	for range 60 {
		f.round(1, "", 0)
		var leases [8]*evenkeel.Lease[string]
		for i := range leases {
			leases[i] = f.begin("c")
		}
		for i := range leases {
			f.Advance(10 * ms)
			leases[i].Done(nil)
		}
	}
	assert.Equal(t, 1., f.slowness("c"))
}

// Without calls a slowness fades, so that the backend is tried again.
func TestSlownessFades(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	f.round(40, "c", 200*ms)
	assert.Equal(t, 8., f.slowness("c"))
	for range 40 {
		for range 50 {
			f.serve("a", 1, 10*ms)
			f.serve("b", 1, 10*ms)
		}
	}
	assert.Equal(t, 1., f.slowness("c"))
}

// What fails fast, is refused or is given up does not look quick; what fails slowly
// looks slow.
func TestSlownessAndFailures(t *testing.T) {
	cfg := evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}}
	f := newFleet(t, cfg, "a", "b", "c", "d", "e")
	f.round(40, "c", 200*ms)
	require.Equal(t, 8., f.slowness("c"))
	for range 20 {
		lease := f.begin("c")
		f.Advance(10 * time.Microsecond)
		lease.Done(errBroken)
		lease = f.begin("c")
		f.Advance(10 * time.Microsecond)
		lease.DoneAs(evenkeel.OutcomeNeutral, nil)
		lease = f.begin("c")
		lease.Release()
		f.serve("a", 1, 10*ms)
		f.serve("b", 1, 10*ms)
	}
	assert.Equal(t, 8., f.slowness("c"))
	for range 40 {
		lease := f.begin("b")
		f.Advance(400 * ms)
		lease.Done(errBroken)
		f.round(1, "c", 200*ms)
	}
	assert.Greater(t, f.slowness("b"), 1.)
}

// One huge job, or one answer from a cache, marks nobody.
func TestSlownessOfOneJob(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	f.round(20, "", 0)
	f.serve("c", 1, time.Hour)
	f.round(1, "", 0)
	assert.Equal(t, 1., f.slowness("c"))
	f.serve("a", 1, time.Nanosecond)
	f.round(1, "", 0)
	for b := range f.All() {
		assert.Equal(t, 1., f.slowness(b), b)
	}
}

// A stream counts to its first answer.
func TestSlownessOfStreams(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	for range 40 {
		f.round(1, "", 0)
		lease := f.begin("c")
		f.Advance(10 * ms)
		lease.Answered()
		f.Advance(time.Second)
		lease.Done(nil)
	}
	assert.Equal(t, 1., f.slowness("c"))
}

// A backend that does not answer at all is slow before it has.
func TestSlownessOfSilence(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	f.round(10, "", 0)
	hung := []*evenkeel.Lease[string]{f.begin("c"), f.begin("c"), f.begin("c"), f.begin("c")}
	for range 400 {
		f.serve("a", 1, 10*ms)
		f.serve("b", 1, 10*ms)
	}
	before := f.load("c")
	more := f.begin("c")
	hung = append(hung, f.begin("c"))
	for range 1000 {
		f.serve("a", 1, 10*ms)
		f.serve("b", 1, 10*ms)
	}
	assert.Greater(t, f.load("c"), before)
	assert.Equal(t, 4., before, "one sample alone marks nobody")
	more.Done(nil)
	for i := range hung {
		hung[i].Done(nil)
	}
}

// What a server says of its own service time goes before what was measured.
func TestReportedServiceTime(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	says := func(d time.Duration) evenkeel.Report { return evenkeel.Report{ServiceTime: d} }
	for range 20 {
		f.serve("a", 1, 10*ms, says(2*ms))
		f.serve("b", 1, 10*ms, says(2*ms))
		f.serve("c", 1, 10*ms, says(10*ms))
	}
	assert.Equal(t, []float64{1, 1, 4}, []float64{f.slowness("a"), f.slowness("b"), f.slowness("c")})
	assert.Equal(t, 10*ms, stats(f.Pool, "c").Report.ServiceTime)
	for range 5000 {
		f.serve("a", 1, 10*ms, says(2*ms))
		f.serve("b", 1, 10*ms, says(2*ms))
	}
	assert.Equal(t, 1., f.slowness("c"), "it is remembered for a while only")
}

// Off means off.
func TestSlownessOff(t *testing.T) {
	f := newFleet(t, evenkeel.Config{Slowness: evenkeel.Slowness{Off: true}}, "a", "b", "c")
	f.round(40, "c", 200*ms)
	f.serve("c", 1, ms, evenkeel.Report{ServiceTime: time.Hour})
	f.round(5, "c", 200*ms)
	assert.Equal(t, 1., f.slowness("c"))
}

// The clock is read for few of many calls, however quick they are, and for each of few.
func TestFewReadingsOfTheClock(t *testing.T) {
	c, readings := newClock(), 0
	pool := newPool(t, evenkeel.Config{
		SlowStart: evenkeel.SlowStart{Off: true}, Now: func() time.Time { readings++; return c.Now() },
	}, "a")
	lb := sqf.New(pool)
	readings = 0
	for range 100_000 {
		lease, err := lb.Lease(t.Context())
		require.NoError(t, err)
		lease.Done(nil)
	}
	assert.Less(t, readings, 2000)

	c.Advance(time.Hour)
	for range 200 { // from here on each call takes its time
		lease, err := lb.Lease(t.Context())
		require.NoError(t, err)
		c.Advance(10 * ms)
		lease.Done(nil)
	}
	readings = 0
	for range 100 {
		lease, err := lb.Lease(t.Context())
		require.NoError(t, err)
		c.Advance(10 * ms)
		lease.Done(nil)
	}
	assert.GreaterOrEqual(t, readings, 200)
}
