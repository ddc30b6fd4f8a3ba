package evenkeel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// backs are the ways in which a backend leaves the rotation and comes back.
var backs = map[string]func(t *testing.T, c *clock, pool *evenkeel.Pool[string], backend string){
	"by hand": func(t *testing.T, _ *clock, pool *evenkeel.Pool[string], backend string) {
		require.NoError(t, pool.Eject(backend))
		require.NoError(t, pool.Restore(backend))
	},
	"by health": func(t *testing.T, _ *clock, pool *evenkeel.Pool[string], backend string) {
		require.NoError(t, pool.SetHealth(backend, errBroken))
		require.NoError(t, pool.SetHealth(backend, nil))
	},
	"by outcome": func(t *testing.T, c *clock, pool *evenkeel.Pool[string], backend string) {
		failOn(t, pool, backend, 5)
		trial(t, c, pool, backend, nil)
	},
}

// opened makes a pool, and so many leases on A that are open while A leaves and comes back.
func opened(t *testing.T, e evenkeel.Ejection, back func(*testing.T, *clock, *evenkeel.Pool[string], string), n int) (*evenkeel.Pool[string], []*evenkeel.Lease[string]) {
	t.Helper()
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(e), SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	var leases []*evenkeel.Lease[string]
	for range n {
		lease, err := onto(pool, "A").Lease(t.Context())
		require.NoError(t, err)
		require.Equal(t, "A", lease.Backend())
		leases = append(leases, &lease)
	}
	c.Advance(time.Second)
	back(t, c, pool, "A")
	c.Advance(2 * time.Second) // what ended until then is older than A's record
	require.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
	return pool, leases
}

// Failures of calls that began before an ejection are no part of a run after it.
func TestOldFailuresAreNoRun(t *testing.T) {
	for name, back := range backs {
		pool, leases := opened(t, evenkeel.Ejection{}, back, 20)
		for _, l := range leases {
			l.Done(errBroken)
		}
		assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State, name)
		failOn(t, pool, "A", 4)
		assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State, name)
		failOn(t, pool, "A", 1)
		assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State, name)
	}
}

// Successes of calls that began before an ejection are no part of the rate after it.
func TestOldSuccessesAreNoRate(t *testing.T) {
	for _, name := range []string{"by hand", "by health"} {
		pool, leases := opened(t, evenkeel.Ejection{Consecutive: -1}, backs[name], 200)
		endOn(t, pool, "B", 100)
		for _, l := range leases {
			l.Done(nil)
		}
		failures := 0
		for ; failures < 20 && stats(pool, "A").State == evenkeel.StateActive; failures++ {
			failOn(t, pool, "A", 1)
		}
		assert.Less(t, failures, 20, name)
		assert.ErrorContains(t, stats(pool, "A").Cause, fmt.Sprintf("%d of %[1]d calls failed", failures), name)
	}
}

// A success ends a run of calls past their deadline, as it does one of failures.
func TestSuccessEndsARunOfDeadlines(t *testing.T) {
	for _, succeeds := range []bool{true, false} {
		pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
		late := func(n int) {
			for range n {
				lease, err := onto(pool, "A").Lease(t.Context())
				require.NoError(t, err)
				require.Equal(t, "A", lease.Backend())
				lease.DoneAs(evenkeel.OutcomeDeadline, errBroken)
			}
		}
		late(2)
		endOn(t, pool, "B", 200)
		if succeeds {
			endOn(t, pool, "A", 1)
			late(2)
			assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
		} else {
			late(1)
			assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
		}
	}
}

// A failure that began before the newest success, and ends late, is no part of the run
// and does not end it.
func TestOldFailureLeavesARunAlone(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	old, err := onto(pool, "A").Lease(t.Context())
	require.NoError(t, err)
	require.Equal(t, "A", old.Backend())
	endOn(t, pool, "A", 1)
	failOn(t, pool, "A", 3)
	old.Done(errBroken)
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State, "four in a row")
	failOn(t, pool, "A", 1)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
}

// What the others suffered before a backend came back is no excuse for it.
func TestOthersCountSinceTheReturn(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{Window: -1}, SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	require.NoError(t, pool.Eject("A"))
	for range 50 {
		failOn(t, pool, "B", 1)
		endOn(t, pool, "B", 1)
	}
	c.Advance(2 * time.Second)
	require.NoError(t, pool.Restore("A"))
	c.Advance(2 * time.Second)
	endOn(t, pool, "B", 20)
	failOn(t, pool, "A", 5)
	assert.Equal(t, evenkeel.StateEjectedByOutcome, stats(pool, "A").State)
}

// The calls that a backend is answering count for its rate.
func TestAnsweredCallsCountForTheRate(t *testing.T) {
	for _, streams := range []int{0, 1000} {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{Consecutive: -1}}, "A", "B")
		c.Advance(2 * time.Second)
		for range streams {
			lease, err := onto(pool, "A").Lease(t.Context())
			require.NoError(t, err)
			require.Equal(t, "A", lease.Backend())
			lease.Answered()
			defer lease.Release()
		}
		endOn(t, pool, "B", 200)
		for range 20 {
			if stats(pool, "A").State == evenkeel.StateActive {
				failOn(t, pool, "A", 1)
			}
		}
		assert.Equal(t, streams == 0, stats(pool, "A").State == evenkeel.StateEjectedByOutcome, "beside %d streams", streams)
	}
}

// late makes calls on a backend that pass their deadline, while it is in.
func late(t *testing.T, pool *evenkeel.Pool[string], backend string, n int) {
	t.Helper()
	for range n {
		if stats(pool, backend).State == evenkeel.StateActive {
			lease, err := onto(pool, backend).Lease(t.Context())
			require.NoError(t, err)
			require.Equal(t, backend, lease.Backend())
			lease.DoneAs(evenkeel.OutcomeDeadline, errBroken)
		}
	}
}

// A run of deadlines says nothing where the others have ended no calls meanwhile, and
// little where they have ended few.
func TestDeadlinesBesideFewCalls(t *testing.T) {
	for _, c := range []struct{ before, beside, run int }{{200, 0, 10}, {0, 4, 2}} {
		for _, enough := range []bool{false, true} {
			clock := newClock()
			pool := newPool(t, evenkeel.Config{Now: clock.Now, Ejection: evenkeel.Ejection{Window: -1}}, "A", "B", "C")
			clock.Advance(2 * time.Second)
			endOn(t, pool, "B", c.before)
			late(t, pool, "A", 1)
			endOn(t, pool, "B", c.beside)
			if enough {
				endOn(t, pool, "B", 2000)
			}
			late(t, pool, "A", c.run-1)
			assert.Equal(t, enough, stats(pool, "A").State == evenkeel.StateEjectedByOutcome, "%+v", c)
		}
	}
}

// Older calls that end well during a run of failures count beside it: a backend that
// refuses what is beyond its places goes on with what it holds.
func TestOlderCallsCountBesideARun(t *testing.T) {
	for _, holds := range []int{0, 40} {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{Window: -1}}, "A", "B", "C")
		c.Advance(2 * time.Second)
		for range 20 { // one call in ten fails
			failOn(t, pool, "B", 1)
			endOn(t, pool, "B", 9)
		}
		var held []*evenkeel.Lease[string]
		for range holds {
			lease, err := onto(pool, "A").Lease(t.Context())
			require.NoError(t, err)
			held = append(held, &lease)
		}
		failOn(t, pool, "A", 1)
		for _, l := range held {
			l.Done(nil)
		}
		for range 11 {
			if stats(pool, "A").State == evenkeel.StateActive {
				failOn(t, pool, "A", 1)
			}
		}
		assert.Equal(t, holds == 0, stats(pool, "A").State == evenkeel.StateEjectedByOutcome, "with %d held", holds)
	}
}

// A relapse while the others fail too is no reason for a longer ejection.
func TestRelapseOfAllIsNotLonger(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{Window: -1})}, "A", "B", "C")
		failOn(t, pool, "A", 5)
		for range 12 {
			if shared {
				failOn(t, pool, "B", 1)
			}
			endOn(t, pool, "B", 3)
		}
		trial(t, c, pool, "A", errBroken)
		length := 10 * time.Second
		if shared {
			length = 5 * time.Second
		}
		assert.Equal(t, length, stats(pool, "A").Until.Sub(c.Now()), "shared: %v", shared)
	}
}

// Also in a large pool a backend is left out of what it is compared with.
func TestNobodyOfManyIsComparedWithItself(t *testing.T) {
	c := newClock()
	list := names(120)
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: evenkeel.Ejection{Consecutive: -1}}, list...)
	endOn(t, pool, list[1], 200)
	for range 20 {
		if stats(pool, list[0]).State == evenkeel.StateActive {
			c.Advance(200 * time.Millisecond)
			failOn(t, pool, list[0], 1)
		}
	}
	assert.ErrorContains(t, stats(pool, list[0]).Cause, "against 0 of 200 on the others")
}
