package evenkeel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// partOf is the part of the calls that a backend gets by the shares of all.
func partOf(pool *evenkeel.Pool[string], backend string) float64 {
	own, all := 0.0, 0.0
	for b, s := range pool.All() {
		all += s.Share
		if b == backend {
			own = s.Share
		}
	}
	return own / all
}

// However many are new at once, those who are settled get no more than twice their part.
func TestSettledGetAtMostTwiceTheirPart(t *testing.T) {
	for n := 2; n <= 26; n++ {
		c := newClock()
		list := names(n)
		pool := newPool(t, evenkeel.Config{Now: c.Now}, list[0])
		c.Advance(time.Minute)
		require.NoError(t, pool.Replace(list...))
		assert.LessOrEqual(t, partOf(pool, list[0]), 2/float64(n)+1e-9, "%d members", n)
		assert.Less(t, partOf(pool, list[1]), 1/float64(n), "%d members", n)
	}
}

// Who founded the pool a moment ago is hardly older than who joins now.
func TestPoolOfAMomentAgoKnowsNoNewcomer(t *testing.T) {
	for _, age := range []time.Duration{100 * time.Millisecond, time.Minute} {
		c := newClock()
		list := names(10)
		pool := newPool(t, evenkeel.Config{Now: c.Now}, list[:9]...)
		c.Advance(age)
		require.NoError(t, pool.Replace(list...))
		if age < time.Second {
			assert.InDelta(t, 0.1, partOf(pool, list[9]), 1e-9)
		} else {
			assert.Less(t, partOf(pool, list[9]), 0.02)
		}
	}
}

// When all members of a tier are replaced at once nobody is held back.
func TestAllNewAreHeldBackFromNothing(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("C", "D"))
	assert.Equal(t, evenkeel.StateActive, stats(pool, "C").State)
	assert.InDelta(t, 1, stats(pool, "C").Share, 0)
}
