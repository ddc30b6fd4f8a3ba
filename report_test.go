package evenkeel_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// fleet is a pool on a clock of its own, whose calls take as long as the test says.
type fleet struct {
	*clock
	*evenkeel.Pool[string]
	t testing.TB
}

func newFleet(t testing.TB, cfg evenkeel.Config, backends ...string) *fleet {
	f := &fleet{clock: newClock(), t: t}
	cfg.Now, cfg.Seed = f.Now, 1
	cfg.SlowStart.Off = true
	f.Pool = newPool(t, cfg, backends...)
	return f
}

// begin begins a call on a backend.
func (f *fleet) begin(backend string) *evenkeel.Lease[string] {
	lease, err := onto(f.Pool, backend).Lease(f.t.Context())
	require.NoError(f.t, err)
	require.Equal(f.t, backend, lease.Backend())
	return &lease
}

// serve makes calls one after the other that take d and bring back reports, if there are
// any.
func (f *fleet) serve(backend string, n int, d time.Duration, reports ...evenkeel.Report) {
	for range n {
		lease := f.begin(backend)
		f.Advance(d)
		for _, r := range reports {
			lease.Report(r)
		}
		lease.Done(nil)
	}
}

func (f *fleet) load(backend string) float64 { return stats(f.Pool, backend).Load }

func holding(n float64) evenkeel.Report { return evenkeel.Report{InFlight: n} }

const ms = time.Millisecond

// The load is what the server said and what has begun there since, or the pool's own
// count where that is more; the penalty and the weight are as always.
func TestReportIsTheLoad(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b")
	first, second := f.begin("a"), f.begin("a")
	assert.Equal(t, 2., f.load("a"), "no report yet: the count")

	first.Report(holding(7))
	first.Done(nil)
	assert.Equal(t, 7., f.load("a"))
	third := f.begin("a")
	assert.Equal(t, 8., f.load("a"), "one has begun since")
	require.NoError(t, f.SetWeight("a", 4))
	assert.Equal(t, 2., f.load("a"))
	require.NoError(t, f.SetWeight("a", 1))

	second.Report(holding(0))
	assert.Equal(t, 2., f.load("a"), "the server held less than the pool knows to be in flight")
	second.Done(nil)
	third.Done(nil)
	assert.Equal(t, 0., f.load("a"))
}

// Calls that have begun since a report and are over count no more, also if they brought
// none.
func TestReportForgetsWhatIsOver(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b")
	f.serve("a", 1, ms, holding(3))
	for range 20 {
		lease := f.begin("a")
		lease.Release()
	}
	assert.Equal(t, 3., f.load("a"))
}

// Policies go by reports: the shortest queue is the one that the servers say.
func TestReportDecides(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
	f.serve("a", 1, ms, holding(3))
	f.serve("b", 1, ms, holding(2))
	f.serve("c", 1, ms, holding(4))
	lb := sqf.New(f.Pool)
	for range 50 {
		backend, err := lb.Pick()
		require.NoError(t, err)
		assert.Equal(t, "b", backend)
	}
	lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"b"}})
	require.NoError(t, err)
	assert.Equal(t, "a", lease.Backend(), "of those that are left too")
	lease.Release()
}

// A report that is out of range changes nothing and is counted.
func TestBadReports(t *testing.T) {
	bad := []evenkeel.Report{
		holding(-1), holding(math.NaN()), holding(math.Inf(1)), holding(math.Inf(-1)), holding(1.1e9),
		{InFlight: 1, ServiceTime: -1},
	}
	f := newFleet(t, evenkeel.Config{}, "a", "b")
	f.serve("a", 1, ms, holding(3))
	f.serve("a", 1, ms, bad...)
	s := stats(f.Pool, "a")
	assert.Equal(t, uint64(len(bad)), s.BadReports)
	assert.Equal(t, uint64(1), s.Reports)
	assert.Equal(t, 3., s.Load)
	assert.Equal(t, holding(3), s.Report)
	assert.Equal(t, f.Now().Add(-ms), s.ReportedAt)

	var zero evenkeel.Lease[string]
	zero.Report(holding(1)) // harmless
}

// A report fades toward the average, whatever it was: it starves nobody for longer than
// some hundred service times, and it draws traffic no longer than that.
func TestReportFades(t *testing.T) {
	for _, said := range []float64{0, 40, 1e9} {
		f := newFleet(t, evenkeel.Config{}, "a", "b", "c")
		f.serve("b", 40, ms, holding(10))
		f.serve("a", 1, ms, holding(said))
		assert.Less(t, f.load("a"), 64*(10+4.), "at once no more than that")
		before := max(math.Abs(f.load("a")-10), 1.5)
		for range 12 {
			f.serve("b", 50, ms, holding(10))
			now := math.Abs(f.load("a") - 10)
			assert.LessOrEqual(t, now, before, "said %v", said)
			before = max(now, 1.5)
		}
		assert.InDelta(t, 10, f.load("a"), 1.5, "said %v", said)
	}
}

// One that answers and does not report is supposed to hold what the others say, so that
// it is neither flooded nor starved; one that has not answered at all is tried at times.
func TestReportsOfSome(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "new", "silent", "a", "b")
	f.serve("silent", 1, ms)
	tried := 0
	for range 400 {
		f.serve("a", 1, ms, holding(6))
		f.serve("b", 1, ms, holding(5))
		require.InDelta(t, 5.5, f.load("silent"), 0.6)
		if load := f.load("new"); load <= 6.1 {
			tried++
			assert.GreaterOrEqual(t, load, 4.9)
		} else {
			assert.Less(t, load, 20.)
		}
	}
	assert.Greater(t, tried, 20)
	assert.Less(t, tried, 200)
	lease := f.begin("silent")
	assert.GreaterOrEqual(t, f.load("silent"), 5.9, "and what has begun there")
	lease.Done(nil)
}

// Where the reports end the count alone decides again, and at the price that it has.
func TestReportsEnd(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b")
	f.serve("a", 1, ms, holding(5))
	f.serve("b", 1, ms, holding(4))
	for range 2200 {
		f.serve("a", 1, ms)
	}
	assert.Zero(t, f.load("a"))
	assert.Zero(t, f.load("b"))
	assert.Equal(t, holding(5), stats(f.Pool, "a").Report, "what was said last stays on show")
}

// A signal of the caller's own stands in place of the reports.
func TestSignalBeforeReports(t *testing.T) {
	f := newFleet(t, evenkeel.Config{}, "a", "b")
	f.serve("a", 1, ms, holding(5))
	f.SetLoad(each(func(string, int) float64 { return 2 }))
	assert.Equal(t, 2., f.load("a"))
	f.SetLoad(nil)
	assert.Equal(t, 5., f.load("a"))
}

// Reports that come from many calls at once leave a load that one of them has said.
func TestReportsAtOnce(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a", "b")
	lb := sqf.New(pool)
	done := make(chan struct{})
	for i := range 4 {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 2000 {
				lease, err := lb.Lease(t.Context())
				if err != nil {
					panic(err)
				}
				lease.Report(holding(float64(i)))
				lease.Done(nil)
			}
		}()
	}
	for range 4 {
		<-done
	}
	var reports uint64
	for _, s := range pool.All() {
		assert.GreaterOrEqual(t, s.Load, 0.)
		assert.LessOrEqual(t, s.Load, 7.) // 2 x average + 1 at most, before the first answer
		assert.Zero(t, s.InFlight)
		reports += s.Reports
	}
	assert.Equal(t, uint64(8000), reports)
}
