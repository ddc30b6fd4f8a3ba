package lbtest

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// checkNoWait: a call that must not wait is served like any other where there is
// room, and fails at once where it would have to wait.
func checkNoWait(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{MaxInFlight: 1, Backlog: 4}, "a", "b")
	first := s.leaseAtOnce()
	second := s.leaseAtOnce()
	full := map[string]int{"a": 1, "b": 1}
	s.wantCounts(full, "with as many calls that must not wait as there are places")
	s.refusesToWait(evenkeel.ErrOverloaded, "with every backend at its limit")
	s.refusesToWait(evenkeel.ErrOverloaded, "with every backend at its limit and \"a\" to be avoided", "a")
	s.refusesToWait(evenkeel.ErrNoBackends, "with all members to be avoided", "a", "b")
	s.wantCounts(full, "after calls that must not wait")

	free, busy := first.Backend(), second.Backend()
	first.Release()
	s.refusesToWait(evenkeel.ErrOverloaded, "with the one that has room to be avoided", free)
	s.wantCounts(map[string]int{busy: 1}, "after a call that must not wait and must avoid the one that has room")
	again := s.leaseAtOnce()
	if got := again.Backend(); got != free {
		t.Errorf("a Lease for a call that must not wait took %q, want %q, which alone has room", got, free)
	}
	again.Release()
	second.Release()
	RequireIdle(t, s.pool)
}

// leaseAtOnce is a Lease of a call that must not wait, where there is room.
func (s *subject) leaseAtOnce() (lease evenkeel.Lease[string]) {
	s.Helper()
	lease, err := s.lb.LeaseFor(s.ctx, evenkeel.Call[string]{NoWait: true})
	if err != nil {
		s.Fatalf("Lease for a call that must not wait, with room on a backend: %v", err)
	}
	return
}

// refusesToWait fails the test unless a call that must not wait fails with want,
// without a moment in the backlog.
func (s *subject) refusesToWait(want error, when string, avoid ...string) {
	s.Helper()
	ctx, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	var got answer
	call := startAside(func() {
		got.lease, got.err = s.lb.LeaseFor(ctx, evenkeel.Call[string]{Avoid: avoid, NoWait: true})
	})
	for !call.hasReturned() {
		if waiting(s.pool) > 0 {
			giveUp(errors.New("it waits"))
			s.await(call, "a waiting call whose context was cancelled")
			s.Fatalf("Lease %s: a call that must not wait stood in the backlog", when)
		}
		runtime.Gosched()
	}
	s.await(call, "a call that must not wait")
	s.wantRefusal(&got.lease, got.err, want, when)
}
