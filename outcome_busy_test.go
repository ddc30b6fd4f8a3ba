package evenkeel_test

import (
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// endAs makes one call on a backend that ends with an error.
func endAs(t *testing.T, pool *evenkeel.Pool[string], backend string, err error) {
	t.Helper()
	lease, lerr := onto(pool, backend).Lease(t.Context())
	require.NoError(t, lerr)
	require.Equal(t, backend, lease.Backend())
	lease.Done(err)
}

// A refusal because the backend is busy is load and no sickness.
func TestBusyIsLoad(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	for range 20 {
		endAs(t, pool, "A", fmt.Errorf("wrapped: %w", &evenkeel.BusyError{}))
	}
	s := stats(pool, "A")
	assert.Equal(t, evenkeel.StateActive, s.State)
	assert.NotZero(t, s.Penalty)
	assert.Zero(t, s.InFlight)
	assert.Zero(t, s.Failures)
	assert.Zero(t, s.Successes)
	for range 20 {
		b, err := sqf.New(pool).Pick()
		require.NoError(t, err)
		assert.NotEqual(t, "A", b)
	}
}

// Retry-After takes a backend out for that long, at most 30 s and up to a tenth less.
func TestRetryAfterIsAPause(t *testing.T) {
	for asked, longest := range map[time.Duration]time.Duration{2 * time.Second: 2 * time.Second, time.Hour: 30 * time.Second} {
		c := newClock()
		pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B", "C")
		endAs(t, pool, "A", &evenkeel.BusyError{RetryAfter: asked, Err: errBroken})
		s := stats(pool, "A")
		assert.Equal(t, evenkeel.StatePaused, s.State)
		assert.False(t, s.Used)
		assert.ErrorIs(t, s.Cause, errBroken)
		length := s.Until.Sub(c.Now())
		assert.LessOrEqual(t, length, longest)
		assert.GreaterOrEqual(t, length, longest*9/10)
		c.Advance(length)
		assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
		assert.True(t, stats(pool, "A").Used)
	}
}

// Where all backends ask for a pause they are called all the same.
func TestPauseOfAll(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	endAs(t, pool, "A", &evenkeel.BusyError{RetryAfter: time.Second})
	assert.False(t, stats(pool, "A").Used)
	endAs(t, pool, "B", &evenkeel.BusyError{RetryAfter: time.Second})
	assert.True(t, stats(pool, "A").Used)
	assert.True(t, stats(pool, "B").Used)
	lease, err := sqf.New(pool).Lease(t.Context())
	require.NoError(t, err)
	lease.Release()
}

// What is not the backend's fault ends as it should, and the error stays what it is.
func TestErrorsThatAreNotItsFault(t *testing.T) {
	require.NoError(t, evenkeel.NotItsFault(nil))
	marked := evenkeel.NotItsFault(fmt.Errorf("no rows: %w", io.EOF))
	require.ErrorIs(t, marked, io.EOF)
	assert.EqualError(t, marked, "no rows: EOF")
	for err, want := range map[error]evenkeel.Outcome{
		marked:                                        evenkeel.OutcomeSuccess,
		fmt.Errorf("query: %w", marked):               evenkeel.OutcomeSuccess,
		&evenkeel.BusyError{}:                         evenkeel.OutcomeOverloaded,
		fmt.Errorf("dial: %w", syscall.EMFILE):        evenkeel.OutcomeNeutral,
		fmt.Errorf("dial: %w", syscall.EADDRNOTAVAIL): evenkeel.OutcomeNeutral,
		fmt.Errorf("dial: %w", syscall.ECONNREFUSED):  evenkeel.OutcomeFailure,
		evenkeel.ErrOverloaded:                        evenkeel.OutcomeNeutral,
		io.EOF:                                        evenkeel.OutcomeFailure,
	} {
		assert.Equal(t, want, evenkeel.DefaultOutcome(t.Context(), err), "%v", err)
	}
	assert.ErrorIs(t, &evenkeel.BusyError{Err: io.EOF}, io.EOF)
}

// While health checks run, a newcomer to a pool in use waits for its first pass.
func TestNewcomerWaitsForItsFirstCheck(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	stop := pool.AwaitChecks()
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B", "C", "D"))
	assert.False(t, stats(pool, "C").Used)
	assert.Equal(t, evenkeel.StateEjectedByHealth, stats(pool, "C").State)
	require.NoError(t, pool.SetHealth("C", nil))
	assert.True(t, stats(pool, "C").Used)
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "C").State)
	assert.False(t, stats(pool, "D").Used)
	stop()
	stop()
	assert.True(t, stats(pool, "D").Used, "nobody checks any more")
	require.NoError(t, pool.Replace("A", "E"))
	assert.True(t, stats(pool, "E").Used)
}

// Who is used although health checks have found it down gets few calls, until one of
// them ends well.
func TestDoubtEndsWithAGoodCall(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	for _, b := range []string{"A", "B"} {
		require.NoError(t, pool.SetHealth(b, errBroken))
	}
	require.True(t, pool.Stats().Panic)
	assert.InDelta(t, 0.1, stats(pool, "A").Share, 1e-9)
	assert.InDelta(t, 1, stats(pool, "C").Share, 1e-9)
	endAs(t, pool, "A", errBroken)
	assert.InDelta(t, 0.1, stats(pool, "A").Share, 1e-9)
	endAs(t, pool, "A", nil)
	assert.InDelta(t, 1, stats(pool, "A").Share, 1e-9)
	assert.InDelta(t, 0.1, stats(pool, "B").Share, 1e-9)
}
