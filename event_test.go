package evenkeel_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

type eventLog struct {
	mu     sync.Mutex
	events []evenkeel.Event
}

func (l *eventLog) add(e evenkeel.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *eventLog) take() (changes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		changes = append(changes, e.Backend.(string)+": "+e.From.String()+" -> "+e.To.String())
	}
	l.events = nil
	return changes
}

func TestEventsTellEveryChange(t *testing.T) {
	var log eventLog
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, OnEvent: log.add, Ejection: exact(evenkeel.Ejection{})}, "A", "B")
	c.Advance(time.Minute)
	assert.Empty(t, log.take(), "the first members are no news")
	failOn(t, pool, "A", 5)
	log.mu.Lock()
	e := log.events[0]
	log.mu.Unlock()
	assert.Equal(t, c.Now(), e.At)
	assert.Equal(t, c.Now().Add(5*time.Second), e.Until)
	assert.ErrorIs(t, e.Cause, errBroken)
	assert.Equal(t, []string{"A: active -> ejected by outcome"}, log.take())
	trial(t, c, pool, "A", nil)
	assert.Equal(t, []string{"A: ejected by outcome -> on trial", "A: on trial -> slow start"}, log.take())
	require.NoError(t, pool.Eject("B"))
	require.NoError(t, pool.Eject("B"))
	require.NoError(t, pool.Restore("B"))
	require.NoError(t, pool.SetHealth("B", errBroken))
	require.NoError(t, pool.SetWeight("B", 0))
	require.NoError(t, pool.Replace("A", "C"))
	assert.Equal(t, []string{
		"B: active -> ejected by hand", "B: ejected by hand -> slow start", "B: slow start -> ejected by health",
		"B: ejected by health -> drained", "B: drained -> removed", "C: removed -> slow start",
	}, log.take())
}

// F166: a hook may call back into the pool, and what that changes is told in turn.
func TestF166HookReenters(t *testing.T) {
	var pool *evenkeel.Pool[string]
	var log eventLog
	pool = newPool(t, evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		log.add(e)
		for range pool.All() {
		}
		if e.To == evenkeel.StateEjectedByHand {
			assert.NoError(t, pool.Restore(e.Backend.(string)))
		}
	}}, "A", "B")
	require.NoError(t, pool.Eject("A"))
	assert.Equal(t, []string{"A: active -> ejected by hand", "A: ejected by hand -> slow start"}, log.take())
	assert.Equal(t, evenkeel.StateSlowStart, stats(pool, "A").State)
}

// A pick never runs the hook: what it notices is told by a later call.
func TestPickTellsNothing(t *testing.T) {
	var log eventLog
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, OnEvent: log.add}, "A", "B")
	failOn(t, pool, "A", 5)
	log.take()
	c.Advance(time.Minute)
	lb := p2c.New(pool)
	_, err := lb.Pick()
	require.NoError(t, err)
	lease, err := lb.Lease(t.Context())
	require.NoError(t, err)
	assert.Empty(t, log.take())
	lease.Done(nil)
	assert.Equal(t, []string{"A: ejected by outcome -> on trial", "A: on trial -> slow start"}, log.take())
}

// Events come one at a time and in order, whoever causes them.
func TestEventsInOrder(t *testing.T) {
	var (
		last    evenkeel.State
		running sync.Mutex
	)
	last = evenkeel.StateActive
	pool := newPool(t, evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		assert.True(t, running.TryLock(), "one at a time")
		defer running.Unlock()
		assert.Equal(t, last, e.From, "no change is left out")
		last = e.To
	}}, "A")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				assert.NoError(t, pool.Eject("A"))
				assert.NoError(t, pool.Restore("A"))
			}
		})
	}
	wg.Wait()
	for range pool.All() { // tells what is left
	}
	assert.Equal(t, evenkeel.StateSlowStart, last)
}
