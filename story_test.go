package evenkeel_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/sqf"
)

var stories = flag.Int("stories", 3000, "how many random stories TestF197 plays")

// F197: whatever happened to a pool, of outcomes, probes, hands, changes of members and
// time: when all is well again every member is in at its full share within a bounded time,
// and after that no event is owed.
//
// More of them: go test -run TestF197 -stories 500000 .
func TestF197NoStateIsForEver(t *testing.T) {
	for seed := range uint64(*stories) {
		s := newStory(t, seed)
		for range s.rand.IntN(60) {
			s.step()
		}
		s.recover()
	}
}

type story struct {
	t      *testing.T
	seed   uint64
	rand   *rand.Rand
	clock  *clock
	pool   *evenkeel.Pool[string]
	lb     evenkeel.Balancer[string]
	open   []*evenkeel.Lease[string]
	events map[string]evenkeel.State // the state that the last event gave
	told   []string
}

func newStory(t *testing.T, seed uint64) *story {
	s := &story{t: t, seed: seed, rand: rand.New(rand.NewPCG(seed, 7)), clock: newClock(), events: map[string]evenkeel.State{}}
	s.pool = newPool(t, evenkeel.Config{Now: s.clock.Now, Seed: seed + 1, OnEvent: func(e evenkeel.Event) {
		if e.Kind == evenkeel.EventState {
			s.events[e.Backend.(string)] = e.To
		}
	}}, "a", "b", "c")
	s.lb = must(sqf.NewWith(s.pool, sqf.Config{Seed: seed + 1}))
	return s
}

func (s *story) note(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *story) some() string { return []string{"a", "b", "c", "d", "e"}[s.rand.IntN(5)] }

// step makes one thing happen.
func (s *story) step() {
	b := s.some()
	switch s.rand.IntN(12) {
	case 0, 1, 2: // calls that fail on one backend, or on all
		all := s.rand.IntN(3) == 0
		s.note("30 calls, failing on %v (all: %v)", b, all)
		for range 30 {
			s.clock.Advance(time.Duration(s.rand.IntN(20)) * time.Millisecond)
			s.call(func(got string) error {
				if all || got == b {
					return errBroken
				}
				return nil
			})
		}
	case 3:
		s.note("a busy %v", b)
		s.call(func(string) error {
			return &evenkeel.BusyError{RetryAfter: time.Duration(s.rand.IntN(100)) * time.Second}
		})
	case 4: // a call that stays open, or whose answer has come
		if lease, err := s.lb.Lease(context.Background()); err == nil {
			s.note("a call stays open on %v", lease.Backend())
			if s.rand.IntN(2) == 0 {
				lease.Answered()
			}
			s.open = append(s.open, &lease)
		}
	case 5:
		if len(s.open) > 0 {
			i := s.rand.IntN(len(s.open))
			outcome := evenkeel.Outcome(s.rand.IntN(6))
			s.note("an open call on %v ends as %v", s.open[i].Backend(), outcome)
			s.open[i].DoneAs(outcome, nil)
			s.open = slices.Delete(s.open, i, i+1)
		}
	case 6:
		s.note("%v ejected", b)
		_ = s.pool.Eject(b)
	case 7:
		s.note("%v restored", b)
		_ = s.pool.Restore(b)
	case 8:
		s.note("%v down", b)
		_ = s.pool.SetHealth(b, errBroken)
	case 9:
		s.note("%v up", b)
		_ = s.pool.SetHealth(b, nil)
	case 10:
		list := []string{"a", "b", "c", "d", "e"}
		s.rand.Shuffle(5, func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:1+s.rand.IntN(5)]
		s.note("members %v", list)
		members := make([]evenkeel.Member[string], len(list))
		for i, b := range list {
			members[i] = evenkeel.Member[string]{Backend: b, Weight: float64(s.rand.IntN(3)), Tier: s.rand.IntN(2)}
		}
		require.NoError(s.t, s.pool.ReplaceMembers(members...))
	case 11:
		d := []time.Duration{time.Millisecond, time.Second, 7 * time.Second, time.Minute, 10 * time.Minute}[s.rand.IntN(5)]
		s.note("%v pass", d)
		s.clock.Advance(d)
	}
}

func (s *story) call(how func(string) error) {
	lease, err := s.lb.Lease(context.Background())
	if err != nil {
		return
	}
	lease.Done(how(lease.Backend()))
}

// recover makes all well and waits.
func (s *story) recover() {
	for _, l := range s.open {
		l.Done(nil)
	}
	s.open = nil
	var members []evenkeel.Member[string]
	for b := range s.pool.All() {
		members = append(members, evenkeel.Member[string]{Backend: b, Weight: 1})
	}
	require.NoError(s.t, s.pool.ReplaceMembers(members...))
	for _, m := range members {
		if s.stateOf(m.Backend) == evenkeel.StateEjectedByHand {
			require.NoError(s.t, s.pool.Restore(m.Backend))
		}
		require.NoError(s.t, s.pool.SetHealth(m.Backend, nil))
	}
	calm := 0
	for range 700 { // the longest ejection, and the ramp after it
		s.clock.Advance(time.Second)
		for range 4 * len(members) {
			s.call(ok)
		}
		if s.settled() {
			calm++
		}
		if calm > 12 { // the penalties are paid, or too old
			break
		}
	}
	for b, st := range s.pool.All() {
		if st.State != evenkeel.StateActive || st.Share != 1 || !st.Used || st.Penalty != 0 {
			s.t.Fatalf("seed %d: %v is %v at %v, used %v, penalty %d, after\n%v", s.seed, b, st.State, st.Share, st.Used, st.Penalty, s.told)
		}
		if to, any := s.events[b]; any && to != st.State {
			s.t.Fatalf("seed %d: the last event of %v said %v, after\n%v", s.seed, b, to, s.told)
		}
	}
}

func (s *story) stateOf(b string) evenkeel.State { return stats(s.pool, b).State }

func (s *story) settled() bool {
	for _, st := range s.pool.All() {
		if st.State != evenkeel.StateActive {
			return false
		}
	}
	return true
}
