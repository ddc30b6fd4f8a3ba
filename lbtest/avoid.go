package lbtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// These checks are about calls that must avoid some backends, as a retry must avoid
// those that were tried.

// leaseAvoiding is a Lease of a call that must avoid some backends.
func (s *subject) leaseAvoiding(ctx context.Context, avoid ...string) (evenkeel.Lease[string], error) {
	return s.lb.LeaseFor(ctx, evenkeel.Call[string]{Avoid: avoid})
}

func checkAvoid(t testing.TB, construct constructor) {
	backends := []string{"a", "b", "c", "d"}
	s := newSubject(t, construct, evenkeel.Config{}, backends...)
	for _, avoid := range [][]string{
		nil, {"a"}, {"b"}, {"c"}, {"d"}, {"elsewhere"}, {"a", "b"}, {"d", "a"}, {"c", "elsewhere", "d"},
		{"b", "c", "d"}, {"d", "c", "a"}, {"a", "d", "b"}, {"c", "b", "a"},
	} {
		s.avoids(avoid, backends)
	}

	open := s.lease()
	counts := map[string]int{open.Backend(): 1}
	for _, all := range [][]string{backends, {"d", "elsewhere", "c", "b", "a"}} {
		s.refusesToAvoid(s.ctx, all, evenkeel.ErrNoBackends, "with all members to be avoided")
		s.wantCounts(counts, "after calls that must avoid all members")
	}
	s.must(s.pool.Eject("a"))
	s.must(s.pool.SetWeight("b", 0))
	s.avoids([]string{"c"}, []string{"c", "d"})
	s.avoids([]string{"d"}, []string{"c", "d"})
	s.refusesToAvoid(s.ctx, []string{"c", "d"}, evenkeel.ErrNoBackends, "with one ejected, one drained and the rest to be avoided")
	s.wantCounts(counts, "after calls that must avoid all members that are in")
	open.Release()
	RequireIdle(t, s.pool)
}

// avoids fails the test unless calls that must avoid some backends go to others of
// those that are in, and leave the list of the caller alone.
func (s *subject) avoids(avoid, in []string) {
	s.Helper()
	given := slices.Clone(avoid)
	for range 50 {
		lease, err := s.leaseAvoiding(s.ctx, given...)
		switch b := lease.Backend(); {
		case err != nil:
			s.Fatalf("Lease for a call that must avoid %q of %q: %v", avoid, in, err)
		case slices.Contains(avoid, b):
			s.Fatalf("Lease took %q for a call that must avoid %q", b, avoid)
		case !slices.Contains(in, b):
			s.Fatalf("Lease took %q for a call that must avoid %q; it is not one of %q", b, avoid, in)
		}
		lease.Release()
		if !slices.Equal(given, avoid) {
			s.Fatalf("Lease changed the caller's list of backends to avoid from %q to %q", avoid, given)
		}
	}
}

// refusesToAvoid fails the test unless the call fails with want and the zero Lease.
func (s *subject) refusesToAvoid(ctx context.Context, avoid []string, want error, when string) {
	s.Helper()
	lease, err := s.leaseAvoiding(ctx, avoid...)
	s.wantRefusal(&lease, err, want, when)
}

// checkAvoidRefused: a call that must avoid some backends fails as every other one
// does, and counts nothing.
func checkAvoidRefused(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{MaxInFlight: 1}, "a", "b")
	errOwn := errors.New("the caller's cause")
	dead, cancel := context.WithCancelCause(context.Background())
	cancel(errOwn)
	s.refusesToAvoid(dead, []string{"a"}, errOwn, "with a context that was cancelled, for a call that must avoid \"a\"")
	var none context.Context
	s.refusesToAvoid(none, []string{"a"}, evenkeel.ErrBadConfig, "with a nil context, for a call that must avoid \"a\"")
	s.wantCounts(nil, "after calls that were refused for their context")

	first, err := s.leaseAvoiding(s.ctx, "b")
	if err != nil {
		t.Fatalf("Lease for a call that must avoid \"b\": %v", err)
	}
	s.refusesToAvoid(s.ctx, []string{"b"}, evenkeel.ErrOverloaded, "with \"a\" at its limit and \"b\" to be avoided")
	s.wantCounts(map[string]int{"a": 1}, "after a call that was refused because what it may use is at its limit")
	first.Release()
	RequireIdle(t, s.pool)
}

// checkAvoidUnderWay: the calls whose backends are avoided are still open, as with
// hedged requests, until every backend has one.
func checkAvoidUnderWay(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c", "d", "e")
	var tried []string
	open := map[string]int{}
	leases := make([]evenkeel.Lease[string], 5)
	for i := range leases {
		var err error
		if leases[i], err = s.leaseAvoiding(s.ctx, tried...); err != nil {
			t.Fatalf("Lease for a call that must avoid %q: %v", tried, err)
		}
		if b := leases[i].Backend(); slices.Contains(tried, b) {
			t.Errorf("Lease took %q for a call that must avoid %s", b, strings.Join(tried, ", "))
		}
		tried = append(tried, leases[i].Backend())
		open[leases[i].Backend()]++
		s.wantCounts(open, "with %d tries open", i+1)
	}
	s.refusesToAvoid(s.ctx, tried, evenkeel.ErrNoBackends, "with all members tried")
	s.wantCounts(open, "after a try for which no member was left")
	for i := range leases {
		leases[i].Release()
	}
	RequireIdle(t, s.pool)
}
