package discover_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// Faults that users of other balancers reported, as far as the source of the members has
// a part in them. Those of kinds J and K that are left out have none: F159, F161, F162,
// F169, F171 and F172 are about how a policy draws and counts.

// F134: an error of the source takes nobody out.
func TestF134AnErrorKeepsTheMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &events{}
		pool, source := newPool(t, evenkeel.Config{OnEvent: seen.add}), newRegistry("a", "b")
		f := follow(t, pool, source, steady)
		defer f.Close()
		assert.Equal(t, []string{"2 joined"}, seen.news())
		source.fail(errDown)
		for f.Stats().Failed < 10 {
			pass(time.Second)
			assert.Equal(t, []string{"a", "b"}, members(pool))
		}
		assert.ErrorIs(t, f.Stats().Err, errDown)
		assert.Equal(t, 10*time.Second, f.Stats().Since.Sub(f.Stats().LastGood))
		seen.mu.Lock()
		assert.ErrorIs(t, seen.list[0].Cause, errDown)
		seen.mu.Unlock()
		assert.Equal(t, []string{"the lookup failed: 2 members are kept"}, seen.news(), "once, not ten times")
		source.say("a")
		pass(10 * time.Second)
		assert.Equal(t, []string{"a"}, members(pool))
		assert.Equal(t, []string{"the source is believed again: 1 members; 1 left"}, seen.news())
		got := f.Stats()
		assert.NoError(t, got.Err)
		assert.Zero(t, got.Since)
		assert.EqualValues(t, 10, got.Failed)
		assert.EqualValues(t, 2, got.Changes)
		assert.Equal(t, 1, got.Members)
	})
}

// F134, F144: an empty answer takes nobody out, in whatever way it is empty.
func TestF134AnEmptyAnswerKeepsTheMembers(t *testing.T) {
	for name, answer := range map[string]discover.Answer[string]{
		"none":      {},
		"all drain": {Members: []evenkeel.Member[string]{{Backend: "a"}, {Backend: "b"}}},
		"all wrong": {Members: []evenkeel.Member[string]{{Backend: "a", Weight: -1}, {Backend: "b", Weight: 1, Tier: -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &events{}
				pool, source := newPool(t, evenkeel.Config{OnEvent: seen.add}, "seed"), newRegistry("a", "b")
				f := follow(t, pool, source, steady)
				defer f.Close()
				source.set(func(r *registry) { r.answer = answer })
				seen.news()
				pass(time.Hour)
				assert.Equal(t, []string{"a", "b"}, members(pool))
				assert.EqualValues(t, 1, stats(pool, "a").Weight)
				assert.ErrorIs(t, f.Stats().Err, discover.ErrEmpty)
				assert.Equal(t, f.Stats().Lookups-1, f.Stats().Empty)
				assert.Equal(t, []string{"the answer is empty: 2 members are kept"}, seen.news())
			})
		})
	}
}

// F134: half of the members may go at once; more only when the source insists.
func TestF134AnAnswerThatShrinksTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &events{}
		pool, source := newPool(t, evenkeel.Config{OnEvent: seen.add}), newRegistry("a", "b", "c", "d", "e", "f")
		f := follow(t, pool, source, steady)
		defer f.Close()
		source.say("a", "b", "c")
		pass(10 * time.Second)
		assert.Equal(t, []string{"a", "b", "c"}, members(pool), "half of them: believed")
		seen.news()

		source.say("new")
		pass(10 * time.Second)
		assert.Equal(t, []string{"a", "b", "c", "new"}, members(pool), "new ones join, old ones stay")
		assert.ErrorIs(t, f.Stats().Err, discover.ErrShrunk)
		assert.Equal(t, []string{"the answer leaves out too many: 4 members are kept; 1 joined"}, seen.news())
		source.say("a", "b", "c")
		pass(10 * time.Second)
		assert.Equal(t, []string{"a", "b", "c"}, members(pool))
		assert.NoError(t, f.Stats().Err)

		source.say("a")
		pass(50 * time.Second)
		source.fail(errDown) // says nothing of who is gone
		pass(15 * time.Second)
		assert.Equal(t, []string{"a", "b", "c"}, members(pool))
		source.say("a")
		pass(20 * time.Second)
		assert.Equal(t, []string{"a"}, members(pool), "the source has said so for a minute")
	})
}

func TestHowMuchAnAnswerMayShrink(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  discover.Config
		want []string // after 40 s, after an hour
	}{
		"by default":     {discover.Config{}, []string{"4", "1"}},
		"never":          {discover.Config{ShrinkAfter: -1}, []string{"4", "4"}},
		"soon":           {discover.Config{ShrinkAfter: 20 * time.Second}, []string{"1", "1"}},
		"to the last":    {discover.Config{MaxShrink: 1}, []string{"1", "1"}},
		"by none":        {discover.Config{MaxShrink: -1}, []string{"4", "1"}},
		"by what it did": {discover.Config{MaxShrink: 0.75}, []string{"1", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, source := newPool(t, evenkeel.Config{}), newRegistry("a", "b", "c", "d")
				c.cfg.Interval, c.cfg.Jitter = 10*time.Second, -1
				f := follow(t, pool, source, c.cfg)
				defer f.Close()
				source.say("a")
				pass(40 * time.Second)
				assert.Equal(t, c.want[0], fmt.Sprint(pool.Len()))
				pass(time.Hour)
				assert.Equal(t, c.want[1], fmt.Sprint(pool.Len()))
			})
		})
	}
}

// A fleet that is replaced as a whole does not shrink.
func TestAllNewIsNoShrinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a", "b", "c")
		f := follow(t, pool, source, steady)
		defer f.Close()
		source.say("d", "e", "f")
		pass(10 * time.Second)
		assert.Equal(t, []string{"d", "e", "f"}, members(pool))
	})
}

// A member that is drained has not been forgotten: the source knows what it says.
func TestDrainingIsNoShrinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a", "b", "c", "d")
		f := follow(t, pool, source, steady)
		defer f.Close()
		source.set(func(r *registry) {
			r.answer.Members = []evenkeel.Member[string]{{Backend: "a", Weight: 1}, {Backend: "b"}, {Backend: "c"}, {Backend: "d"}}
		})
		pass(10 * time.Second)
		assert.Equal(t, evenkeel.StateDrained, stats(pool, "d").State)
		source.say("a")
		pass(10 * time.Second)
		assert.Equal(t, []string{"a"}, members(pool))
		assert.NoError(t, f.Stats().Err)
	})
}

// F136: after MaxStale, and not before, the members are given up; the first answer
// brings them back. A member is not stale between good answers, however rare these are.
func TestF136StaleMembersAreDropped(t *testing.T) {
	for name, c := range map[string]struct {
		trouble func(*registry)
		since   time.Duration
	}{
		"errors": {func(r *registry) { r.err = errDown }, 10 * time.Second},
		"empty":  {func(r *registry) { r.answer = discover.Answer[string]{} }, 10 * time.Second},
		"hangs":  {func(r *registry) { r.takes = time.Hour }, 15 * time.Second}, // for the Timeout
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &events{}
				pool, source := newPool(t, evenkeel.Config{OnEvent: seen.add}), newRegistry("a", "b", "c", "d")
				cfg := steady
				cfg.MaxStale = 5 * time.Minute
				f := follow(t, pool, source, cfg)
				defer f.Close()
				source.set(c.trouble)
				pass(c.since + 5*time.Minute - time.Second)
				assert.Equal(t, 4, pool.Len())
				seen.news()
				pass(time.Second)
				assert.Zero(t, pool.Len())
				assert.Equal(t, []string{"no answer for too long: 0 members are left; 4 left"}, seen.news())
				_, err := p2c.New(pool).Lease(t.Context())
				assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
				source.set(func(r *registry) { r.takes = 0 })
				source.say("a") // however few there are
				pass(20 * time.Second)
				assert.Equal(t, []string{"a"}, members(pool))
			})
		})
	}
}

// F137: the TTL of an answer says when to ask again, not when to forget.
func TestF137ATTLThatEndsInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a", "b")
		source.answer.TTL = time.Minute
		f := follow(t, pool, source, discover.Config{Interval: time.Hour})
		defer f.Close()
		source.fail(errDown)
		pass(5 * time.Minute)
		assert.Positive(t, f.Stats().Failed)
		assert.Equal(t, []string{"a", "b"}, members(pool))
	})
}

// F139: after an outage all 1,000 who ask one source see the new members.
func TestF139AllRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRegistry("a", "b")
		pools := make([]*evenkeel.Pool[string], 1000)
		for i := range pools {
			pools[i] = newPool(t, evenkeel.Config{})
			f := follow(t, pools[i], source, discover.Config{Seed: uint64(i + 1)})
			defer f.Close()
		}
		source.fail(errDown)
		pass(10 * time.Minute)
		source.say("c", "d")
		pass(30 * time.Second)
		for _, pool := range pools {
			require.Equal(t, []string{"c", "d"}, members(pool))
		}
	})
}

// F141: 100 backends that fail in one second bring one lookup a second, not 100.
func TestF141NoStormOfLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprint("b", i)
		}
		pool, source := newPool(t, evenkeel.Config{PanicShare: 1}), newRegistry(names...)
		f := follow(t, pool, source, discover.Config{Interval: time.Hour})
		defer f.Close()
		pass(time.Minute)
		start := time.Now()
		for _, b := range names {
			require.NoError(t, pool.SetHealth(b, errDown))
			f.Refresh()
			pass(10 * time.Millisecond)
		}
		pass(time.Minute)
		assert.Equal(t, []time.Duration{0, time.Second}, since(start, source.lookups()[1:]))
	})
}

// F142: a pool that has no members refuses with an error of its own, under every policy,
// and works when some are back.
func TestF142AnEmptyPoolRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a")
		cfg := steady
		cfg.MaxStale = time.Second
		f := follow(t, pool, source, cfg)
		defer f.Close()
		source.say()
		all := []evenkeel.Balancer[string]{p2c.New(pool), sqf.New(pool), roundrobin.New(pool), random.New(pool)}
		var callers sync.WaitGroup
		for i := range 50 {
			callers.Go(func() {
				for range 200 {
					time.Sleep(100 * time.Millisecond)
					if _, err := all[i%len(all)].Pick(); err != nil {
						assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
					}
				}
			})
		}
		callers.Wait()
		require.Zero(t, pool.Len())
		source.say("a")
		pass(time.Minute) // more than MaxStale, all the while with good answers
		for _, lb := range all {
			b, err := lb.Pick()
			assert.NoError(t, err)
			assert.Equal(t, "a", b)
		}
	})
}

// F146: a backend that is listed twice is one member.
func TestF146Duplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a", "a", "b")
		f := follow(t, pool, source, steady)
		defer f.Close()
		lb, calls := roundrobin.New(pool), map[string]int{}
		for range 300 {
			lease, err := lb.Lease(t.Context())
			require.NoError(t, err)
			calls[lease.Backend()]++
			lease.Done(nil)
		}
		assert.Equal(t, map[string]int{"a": 150, "b": 150}, calls)

		source.set(func(r *registry) {
			r.answer.Members = []evenkeel.Member[string]{
				{Backend: "a", Weight: 9, Tier: 1}, {Backend: "a", Weight: 2}, {Backend: "a", Weight: 3}, {Backend: "b", Weight: 1},
			}
		})
		pass(10 * time.Second)
		assert.Equal(t, 0, stats(pool, "a").Tier, "the lowest tier counts")
		assert.EqualValues(t, 3, stats(pool, "a").Weight, "and in it the greatest weight")
	})
}

// F147: an answer that says the same in another order changes nothing.
func TestF147TheSameAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &events{}
		pool, source := newPool(t, evenkeel.Config{OnEvent: seen.add}), newRegistry("a", "b", "c")
		f := follow(t, pool, source, steady)
		defer f.Close()
		lease, err := p2c.New(pool).Lease(t.Context())
		require.NoError(t, err)
		defer lease.Release()
		held := lease.Backend()
		require.NoError(t, pool.SetWeight("a", 5)) // a Replace would set it back
		seen.news()
		for i := range 1000 {
			source.say([][]string{{"c", "a", "b"}, {"b", "c", "a", "a"}}[i%2]...)
			pass(10 * time.Second)
		}
		assert.GreaterOrEqual(t, f.Stats().Lookups, uint64(1000))
		assert.EqualValues(t, 1, f.Stats().Changes)
		assert.EqualValues(t, 5, stats(pool, "a").Weight)
		assert.Equal(t, 1, pool.InFlight(held))
		assert.Equal(t, evenkeel.StateActive, stats(pool, held).State)
		assert.Empty(t, seen.news())
	})
}

// F149: an entry that is wrong is left out and reported; the rest of the answer counts.
func TestF149OneEntryIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &events{}
		pool, source := newPool(t, evenkeel.Config{OnEvent: seen.add}), newRegistry("a", "b", "gone")
		f := follow(t, pool, source, steady)
		defer f.Close()
		seen.news()
		source.set(func(r *registry) {
			r.answer.Members = []evenkeel.Member[string]{{Backend: "a", Weight: 1}, {Backend: "odd", Weight: -1}, {Backend: "b", Weight: 1}}
		})
		pass(time.Minute)
		assert.Equal(t, []string{"a", "b"}, members(pool))
		assert.ErrorIs(t, f.Stats().Skipped, evenkeel.ErrBadBackend)
		assert.ErrorContains(t, f.Stats().Skipped, "odd")
		assert.NoError(t, f.Stats().Err)
		assert.Equal(t, []string{"1 left", "1 entries of the answer are left out"}, seen.news())
		source.say("a", "b")
		pass(10 * time.Second)
		assert.NoError(t, f.Stats().Skipped)
	})
}

// F151: a new weight or tier of a member counts, and its calls stay counted.
func TestF151ANewWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a")
		f := follow(t, pool, source, steady)
		defer f.Close()
		for range 3 {
			lease, err := p2c.New(pool).Lease(t.Context())
			require.NoError(t, err)
			defer lease.Release()
		}
		source.set(func(r *registry) { r.answer.Members = []evenkeel.Member[string]{{Backend: "a", Weight: 5, Tier: 1}} })
		pass(10 * time.Second)
		assert.EqualValues(t, 5, stats(pool, "a").Weight)
		assert.Equal(t, 1, stats(pool, "a").Tier)
		assert.Equal(t, 3, pool.InFlight("a"))
	})
}

// F154: a step between source and pool works on a copy of its own.
func TestF154AStepHasItsOwnCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := discover.Static("a", "b", "c", "d")
		shared, err := source.Lookup(t.Context())
		require.NoError(t, err)
		same := discover.Func[string](func(context.Context) (discover.Answer[string], error) { return shared, nil })
		odd := discover.Step(same, func(all []evenkeel.Member[string]) []evenkeel.Member[string] {
			half := all[:0]
			for i, m := range all {
				if i%2 == 1 {
					half = append(half, m)
				}
			}
			return half
		})
		whole, part := newPool(t, evenkeel.Config{}), newPool(t, evenkeel.Config{})
		defer follow(t, part, odd, steady).Close()
		defer follow(t, whole, same, steady).Close()
		pass(time.Minute)
		assert.Equal(t, []string{"a", "b", "c", "d"}, members(whole))
		assert.Equal(t, []string{"b", "d"}, members(part))
	})
}

// F152, F156, F167: who has left gets no call, while 100 callers pick and the members
// change all the time; and no call fails.
func TestF156NobodyWhoHasLeftIsPicked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
			n++
			return discover.Backends(fmt.Sprint(n), fmt.Sprint(n+1), fmt.Sprint(n+2)), nil
		})
		pool := newPool(t, evenkeel.Config{})
		f := follow(t, pool, source, discover.Config{Interval: time.Second, Jitter: -1})
		defer f.Close()
		start := time.Now()
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				for range 100 {
					time.Sleep(99 * time.Millisecond)
					b, err := sqf.New(pool).Pick()
					assert.NoError(t, err)
					first := int(time.Since(start)/time.Second) + 1
					if time.Since(start)%time.Second > 2*time.Millisecond {
						assert.Contains(t, []string{fmt.Sprint(first), fmt.Sprint(first + 1), fmt.Sprint(first + 2), fmt.Sprint(first + 3)}, b)
					}
				}
			})
		}
		callers.Wait()
	})
}

// F157: lookups that fail leave nothing running.
func TestF157FailedLookupsLeaveNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRegistry("a")
		f := follow(t, newPool(t, evenkeel.Config{}), source, steady)
		defer f.Close()
		pass(time.Minute)
		before := runtime.NumGoroutine()
		source.fail(errDown)
		for f.Stats().Failed < 1000 {
			pass(time.Minute)
		}
		assert.Equal(t, before, runtime.NumGoroutine())
	})
}

// F164: Close returns, whenever it is called, and nothing changes after it.
func TestF164CloseWhileAnswersCome(t *testing.T) {
	for i := range 1000 {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
				n++
				changed := make(chan struct{})
				close(changed) // asks for the next lookup at once
				answer := discover.Backends(fmt.Sprint(n))
				answer.Changed = changed
				return answer, nil
			})
			pool := newPool(t, evenkeel.Config{})
			f, err := discover.Follow(t.Context(), pool, source, discover.Config{MinInterval: time.Microsecond})
			require.NoError(t, err)
			time.Sleep(time.Duration(i) * 100 * time.Nanosecond)
			require.NoError(t, f.Close())
			last := members(pool)
			pass(time.Second)
			require.Equal(t, last, members(pool))
		})
	}
}

// F166: what observers of the pool call, they may call.
func TestF166ObserversMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *discover.Follower
		pool, source := newPool(t, evenkeel.Config{}), newRegistry("a")
		errs := make(chan error, 1)
		pool.Observe(func(e evenkeel.Event) {
			if e.Kind != evenkeel.EventSource || f == nil {
				return
			}
			f.Refresh()
			f.Stats()
			if pool.Len() == 3 {
				errs <- f.Close()
			}
		})
		f = follow(t, pool, source, steady)
		source.say("a", "b")
		pass(20 * time.Second)
		source.say("a", "b", "c")
		pass(20 * time.Second)
		assert.ErrorContains(t, <-errs, "an observer of the pool has not returned", "Close cannot wait for the goroutine that it is called on")
		source.say("a", "b", "c", "d")
		pass(time.Minute)
		assert.Equal(t, 3, pool.Len())
		assert.NoError(t, f.Close())
	})
}

// What Stats and errors of a lookup say can be matched.
func TestErrorsKeepTheirKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := discover.Answer[string]{Skipped: []error{errDown}}
		source := discover.Func[string](func(context.Context) (discover.Answer[string], error) { return answer, nil })
		_, err := discover.Follow(t.Context(), newPool(t, evenkeel.Config{}), source, discover.Config{FirstAnswer: time.Second})
		assert.ErrorIs(t, err, discover.ErrNoAnswer)
		assert.ErrorIs(t, err, discover.ErrEmpty)
		assert.ErrorIs(t, err, errDown, "what was left out is the reason")
	})
}
