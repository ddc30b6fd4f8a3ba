package evenkeel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// kinds returns the kinds of the events so far, and forgets them.
func (l *eventLog) kinds() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		list = append(list, e.Kind.String())
	}
	l.events = nil
	return list
}

// Observers get every event once, beside Config.OnEvent and in the order in which they
// came, until they are stopped.
func TestObserve(t *testing.T) {
	var calls []string
	note := func(who string) func(evenkeel.Event) {
		return func(e evenkeel.Event) { calls = append(calls, who+" "+e.To.String()) }
	}
	pool := newPool(t, evenkeel.Config{OnEvent: note("config")}, "A", "B")
	stopOne := pool.Observe(note("one"))
	stopTwo := pool.Observe(note("two"))
	require.NoError(t, pool.Eject("A"))
	assert.Equal(t, []string{"config ejected by hand", "one ejected by hand", "two ejected by hand"}, calls)

	calls = nil
	stopOne()
	stopOne()
	require.NoError(t, pool.Restore("A"))
	assert.Equal(t, []string{"config slow start", "two slow start"}, calls)

	calls = nil
	stopTwo()
	require.NoError(t, pool.Eject("A"))
	assert.Equal(t, []string{"config ejected by hand"}, calls)
}

// An observer may stop itself, and others, from within.
func TestObserverStopsItself(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	times := 0
	var stop func()
	stop = pool.Observe(func(evenkeel.Event) {
		times++
		stop()
	})
	require.NoError(t, pool.Eject("A"))
	require.NoError(t, pool.Restore("A"))
	assert.Equal(t, 1, times)
}

// A change is news once, and no news later on.
func TestEachChangeIsOneEvent(t *testing.T) {
	var log eventLog
	pool := newPool(t, evenkeel.Config{OnEvent: log.add, SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B")
	require.NoError(t, pool.Eject("A"))
	require.NoError(t, pool.SetWeight("A", 2))
	require.NoError(t, pool.SetHealth("A", errBroken))
	require.NoError(t, pool.Replace("A", "B", "C"))
	assert.Equal(t, []string{"A: active -> ejected by hand", "C: removed -> active"}, log.take())
	require.NoError(t, pool.Restore("A"))
	assert.Equal(t, []string{"A: ejected by hand -> active"}, log.take())
}

// That health checks are no longer believed is news, and that they are believed again.
func TestPanicIsNews(t *testing.T) {
	var log eventLog
	pool := newPool(t, evenkeel.Config{Name: "db"}, "A", "B", "C")
	pool.Observe(log.add)
	require.NoError(t, pool.SetHealth("A", errBroken))
	assert.Equal(t, []string{"state"}, log.kinds())
	require.NoError(t, pool.SetHealth("B", errBroken))
	assert.ElementsMatch(t, []string{"state", "panic"}, log.kinds())
	assert.True(t, pool.Stats().Panic)
	require.NoError(t, pool.SetHealth("B", nil))
	assert.ElementsMatch(t, []string{"state", "panic ended"}, log.kinds())
	assert.False(t, pool.Stats().Panic)
}

// Of the calls that are refused the first is news, and of those that find a place again.
func TestOverloadIsNews(t *testing.T) {
	var log eventLog
	pool := newPool(t, evenkeel.Config{MaxInFlight: 1, OnEvent: log.add}, "A")
	lb := sqf.New(pool)
	lease, err := lb.Lease(t.Context())
	require.NoError(t, err)
	assert.Empty(t, log.kinds())
	for range 3 {
		_, err := lb.Lease(t.Context())
		require.ErrorIs(t, err, evenkeel.ErrOverloaded)
	}
	assert.Equal(t, []string{"overload"}, log.kinds())
	lease.Release()
	for range 3 {
		again, err := lb.Lease(t.Context())
		require.NoError(t, err)
		again.Release()
	}
	assert.Equal(t, []string{"overload ended"}, log.kinds())
}

// What feeds the members has a word of its own.
func TestSourceNews(t *testing.T) {
	var events []evenkeel.Event
	c := newClock()
	pool := newPool(t, evenkeel.Config{Name: "db", Now: c.Now, OnEvent: func(e evenkeel.Event) { events = append(events, e) }}, "A")
	pool.SourceNews("the last answer stands", errBroken)
	assert.Equal(t, []evenkeel.Event{{Kind: evenkeel.EventSource, Pool: "db", At: c.Now(), Text: "the last answer stands", Cause: errBroken}}, events)
}

// What a pick has noticed is delivered at the next end of a call, though that ends well
// and has nothing else to do.
func TestEndOfACallDeliversEvents(t *testing.T) {
	var log eventLog
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, OnEvent: log.add, Ejection: exact(evenkeel.Ejection{})}, "A", "B", "C")
	open, err := onto(pool, "B").Lease(t.Context())
	require.NoError(t, err)
	failOn(t, pool, "A", 5)
	for range 10 { // no penalty is left to be paid
		endOn(t, pool, "C", 1)
	}
	assert.Equal(t, []string{"A: active -> ejected by outcome"}, log.take())
	c.Advance(5 * time.Second)
	_, err = sqf.New(pool).Pick()
	require.NoError(t, err)
	assert.Empty(t, log.take())
	open.Done(nil)
	assert.Equal(t, []string{"A: ejected by outcome -> on trial"}, log.take())
}
