package discover_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// since returns how long after start each of the times is.
func since(start time.Time, times []time.Time) []time.Duration {
	all := make([]time.Duration, len(times))
	for i, t := range times {
		all[i] = t.Sub(start)
	}
	return all
}

func TestTheFirstAnswerIsThereWhenFollowReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}, "seed"), newRegistry("a", "b")
		source.takes = 3 * time.Second
		f, err := discover.Follow(t.Context(), pool, source, discover.Config{})
		require.NoError(t, err)
		defer f.Close()
		assert.Equal(t, []string{"a", "b"}, members(pool))
	})
}

func TestFollowGivesUpWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source, start := newPool(t, evenkeel.Config{}, "seed"), newRegistry(), time.Now()
		source.fail(errDown)
		_, err := discover.Follow(t.Context(), pool, source, discover.Config{})
		assert.ErrorIs(t, err, discover.ErrNoAnswer)
		assert.ErrorIs(t, err, errDown)
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.Len(t, source.lookups(), 4, "it has asked again: after 1, 2 and 4 s")

		source.say()
		_, err = discover.Follow(t.Context(), pool, source, discover.Config{FirstAnswer: time.Second})
		assert.ErrorIs(t, err, discover.ErrEmpty)
		assert.Equal(t, []string{"seed"}, members(pool), "the pool is unchanged")

		source.takes = time.Hour
		gone := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		_, err = discover.Follow(ctx, pool, source, discover.Config{})
		assert.ErrorIs(t, err, gone)
		assert.ErrorContains(t, err, "the first lookup has not ended")
	})
}

func TestWhatNoLookupCanHelpEndsFollowAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := discover.Follow(t.Context(), newPool(t, evenkeel.Config{}), &discover.DNS{Host: "orders.internal"}, discover.Config{})
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		assert.ErrorContains(t, err, "discover.DNS.Host")
		_, err = discover.Follow(t.Context(), &evenkeel.Pool[string]{}, discover.Static("a"), discover.Config{})
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		assert.Zero(t, time.Since(start))
	})
}

func TestFollowRefusesBadConfigs(t *testing.T) {
	pool, source := newPool(t, evenkeel.Config{}), discover.Static("a")
	for field, cfg := range map[string]discover.Config{
		"FirstAnswer": {FirstAnswer: -1},
		"Interval":    {Interval: -1},
		"MinInterval": {Interval: time.Second, MinInterval: 2 * time.Second},
		"Timeout":     {Timeout: -1},
		"MaxStale":    {MaxStale: -1},
		"Jitter":      {Jitter: 1.5},
		"MaxShrink":   {MaxShrink: math.NaN()},
	} {
		_, err := discover.Follow(t.Context(), pool, source, cfg)
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, field)
		assert.ErrorContains(t, err, "discover.Config."+field)
	}
	_, err := discover.Follow(t.Context(), nil, source, discover.Config{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
	_, err = discover.Follow(t.Context(), pool, nil, discover.Config{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
}

func TestNoWaitKeepsTheSeedsUntilTheFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}, "seed1", "seed2", "seed3"), newRegistry("a")
		source.fail(errDown)
		f := follow(t, pool, source, discover.Config{NoWait: true, MaxStale: time.Minute})
		defer f.Close()
		pass(time.Hour)
		assert.Equal(t, []string{"seed1", "seed2", "seed3"}, members(pool), "seeds are never stale")
		source.say("a")
		pass(time.Minute)
		assert.Equal(t, []string{"a"}, members(pool))
	})
}

// The context of Follow bounds the wait for the first answer, and no more.
func TestTheContextEndsOnlyTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var value any
		pool, n := newPool(t, evenkeel.Config{}), 0
		source := discover.Func[string](func(ctx context.Context) (discover.Answer[string], error) {
			n++
			value = ctx.Value(key{})
			return discover.Backends(fmt.Sprint("b", n)), nil
		})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "span"), time.Second)
		f, err := discover.Follow(ctx, pool, source, steady)
		require.NoError(t, err)
		defer f.Close()
		cancel()
		pass(10*time.Second + time.Millisecond)
		assert.Equal(t, []string{"b2"}, members(pool))
		assert.Equal(t, "span", value, "lookups get its values")
	})
}

func TestWhenTheSourceIsAsked(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		cfg    discover.Config
		script func(*registry)
		want   []time.Duration
	}{
		"every interval":        {steady, nil, []time.Duration{0, 10 * s, 20 * s, 30 * s}},
		"sooner by the TTL":     {steady, func(r *registry) { r.answer.TTL = 4 * s }, []time.Duration{0, 10 * s, 14 * s, 18 * s, 22 * s, 26 * s, 30 * s, 34 * s}},
		"a long TTL":            {steady, func(r *registry) { r.answer.TTL = time.Hour }, []time.Duration{0, 10 * s, 20 * s, 30 * s}},
		"a TTL below the least": {steady, func(r *registry) { r.answer.TTL = 1; r.answer.Members = nil }, []time.Duration{0, 10 * s, 11 * s, 12 * s, 13 * s}},
		"growing waits":         {steady, func(r *registry) { r.err = errDown }, []time.Duration{0, 10 * s, 11 * s, 13 * s, 17 * s, 25 * s, 35 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, source, start := newPool(t, evenkeel.Config{}), newRegistry("a"), time.Now()
				f := follow(t, pool, source, c.cfg)
				defer f.Close()
				if c.script != nil {
					source.set(c.script)
				}
				pass(c.want[len(c.want)-1])
				assert.Equal(t, c.want, since(start, source.lookups()))
			})
		})
	}
}

func TestJitterOnlyShortensTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRegistry("a")
		f := follow(t, newPool(t, evenkeel.Config{}), source, discover.Config{Interval: 10 * time.Second, Jitter: 0.5, Seed: 1})
		defer f.Close()
		pass(1000 * time.Second)
		times, different := source.lookups(), map[time.Duration]bool{}
		for i := range times[1:] {
			wait := times[i+1].Sub(times[i])
			different[wait] = true
			assert.LessOrEqual(t, wait, 10*time.Second)
			assert.GreaterOrEqual(t, wait, 5*time.Second)
		}
		assert.Greater(t, len(different), 100)
	})
}

// A source that notices changes by itself is asked at once.
func TestChangedBringsALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		source := newRegistry("a")
		source.answer.Changed = changed
		pool := newPool(t, evenkeel.Config{})
		f := follow(t, pool, source, discover.Config{})
		defer f.Close()
		pass(5 * time.Second)
		source.say("b")
		close(changed)
		synctest.Wait()
		assert.Equal(t, []string{"b"}, members(pool))
		pass(time.Second)
		assert.Len(t, source.lookups(), 2, "a channel that is closed wakes once")
	})
}

// A wish for a lookup that comes while one is under way is not lost: what the one under
// way brings may be older than the wish.
func TestRefreshDuringALookupBringsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, start := newRegistry("a"), time.Now()
		source.takes = 4 * time.Second
		f, err := discover.Follow(t.Context(), newPool(t, evenkeel.Config{}), source, discover.Config{Jitter: -1})
		require.NoError(t, err)
		defer f.Close()
		f.Refresh()
		pass(time.Second) // at 5 s
		f.Refresh()
		pass(10 * time.Second)
		assert.Equal(t, []time.Duration{0, 4 * time.Second, 8 * time.Second}, since(start, source.lookups()))
	})
}

// When a backend is ejected, by calls that fail, its address may be an old one.
func TestAnEjectionBringsALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a", "b")
		f := follow(t, pool, source, discover.Config{Interval: time.Hour})
		defer f.Close()
		pass(time.Minute)
		source.say("b", "c")
		lb := p2c.New(pool)
		for range 100 {
			_ = evenkeel.Do(t.Context(), lb, func(_ context.Context, b string) error {
				if b == "a" {
					return errDown
				}
				return nil
			})
		}
		synctest.Wait()
		assert.Equal(t, []string{"b", "c"}, members(pool))
		require.NoError(t, pool.SetHealth("b", errDown))
		pass(time.Second)
		assert.Len(t, source.lookups(), 3, "likewise by health checks")
	})
}

func TestALookupThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, hang, n := newPool(t, evenkeel.Config{}), make(chan struct{}), 0
		source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
			if n++; n == 2 {
				<-hang
			}
			return discover.Backends(fmt.Sprint("b", n)), nil
		})
		f := follow(t, pool, source, steady)
		pass(time.Minute)
		assert.Equal(t, []string{"b1"}, members(pool))
		assert.ErrorContains(t, f.Stats().Err, "has not ended")
		assert.EqualValues(t, 1, f.Stats().Failed)
		assert.Equal(t, 2, n, "one at a time")
		assert.ErrorContains(t, f.Close(), "a lookup still runs")
		close(hang)
		synctest.Wait()
		assert.NoError(t, f.Close())
		assert.Equal(t, []string{"b1"}, members(pool), "what comes after Close does not count")
	})
}

// Close ends a lookup, and takes no time for it.
func TestCloseInTheMiddleOfALookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a")
		f := follow(t, pool, source, steady)
		source.set(func(r *registry) { r.takes = time.Hour })
		pass(11 * time.Second)
		start := time.Now()
		assert.NoError(t, f.Close())
		assert.Zero(t, time.Since(start))
		assert.Equal(t, []string{"a"}, members(pool))
		f.Refresh()
		assert.NoError(t, f.Close())
		assert.NoError(t, new(discover.Follower).Close())
		new(discover.Follower).Refresh()
	})
}

func TestASourceThatExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
			runtime.Goexit()
			return discover.Answer[string]{}, nil
		})
		_, err := discover.Follow(t.Context(), newPool(t, evenkeel.Config{}), source, discover.Config{})
		assert.ErrorContains(t, err, "the source called runtime.Goexit")
	})
}
