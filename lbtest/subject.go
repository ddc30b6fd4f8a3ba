package lbtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// constructor is what a check makes its balancers with.
type constructor func(pool *evenkeel.Pool[string]) evenkeel.Balancer[string]

// patience is how long a call may take that must not block. It only keeps a
// balancer that hangs from hanging the whole test.
const patience = 30 * time.Second

// A subject is one balancer under test, with its pool.
type subject struct {
	testing.TB
	pool *evenkeel.Pool[string]
	lb   evenkeel.Balancer[string]
	ctx  context.Context // of calls that need not wait
}

func newSubject(t testing.TB, construct constructor, cfg evenkeel.Config, backends ...string) *subject {
	t.Helper()
	pool, err := evenkeel.NewPool(cfg, backends...)
	if err != nil {
		t.Fatalf("lbtest: NewPool: %v", err)
	}
	lb := construct(pool)
	if lb == nil {
		t.Fatalf("lbtest: the balancer is nil")
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	return &subject{t, pool, lb, ctx}
}

// must fails the test if a change of the pool does.
func (s *subject) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("lbtest: changing the pool: %v", err)
	}
}

// await waits for a goroutine that must come to its end by itself.
func (s *subject) await(a *aside, what string) {
	s.Helper()
	select {
	case <-a.done:
		if a.panic != "" {
			s.Fatalf("%s panics: %s", what, a.panic)
		}
	case <-time.After(patience):
		s.Fatalf("%s does not return", what)
	}
}

// lease is Lease where it must succeed.
func (s *subject) lease() (lease evenkeel.Lease[string]) {
	s.Helper()
	lease, err := s.lb.Lease(s.ctx)
	if err != nil {
		s.Fatalf("Lease with a usable backend in the pool: %v", err)
	}
	return
}

// inFlight is the count of every member.
func (s *subject) inFlight() map[string]int {
	counts := map[string]int{}
	for backend, stats := range s.pool.All() {
		counts[backend] = stats.InFlight
	}
	return counts
}

// wantCounts fails the test if a count differs; backends not in want must be at 0.
func (s *subject) wantCounts(want map[string]int, when string, args ...any) {
	s.Helper()
	for backend, got := range s.inFlight() {
		if got != want[backend] {
			s.Errorf("%s: %d in flight on %q, want %d", fmt.Sprintf(when, args...), got, backend, want[backend])
		}
	}
}

// isUsable reports whether a member may be picked.
func isUsable(stats evenkeel.Stats) bool {
	switch stats.State {
	case evenkeel.StateEjectedByHand, evenkeel.StateDrained:
		return false
	case evenkeel.StateEjectedByHealth, evenkeel.StateEjectedByOutcome:
		return stats.Used // in spite of it, where too many would be out
	}
	return true
}

// onlyUsable fails the test if Pick or Lease takes a backend that is not a member,
// is ejected, or is drained.
func (s *subject) onlyUsable(when string) {
	s.Helper()
	usable := map[string]bool{}
	for backend, stats := range s.pool.All() {
		usable[backend] = isUsable(stats)
	}
	allow := func(what, backend string) {
		s.Helper()
		switch ok, member := usable[backend]; {
		case !member:
			s.Fatalf("%s took %q %s; it is not in the pool", what, backend, when)
		case !ok:
			s.Fatalf("%s took %q %s", what, backend, when)
		}
	}
	for range 100 {
		backend, err := s.lb.Pick()
		if err != nil {
			s.Fatalf("Pick %s, with a usable backend in the pool: %v", when, err)
		}
		allow("Pick", backend)
		lease := s.lease()
		allow("Lease", lease.Backend())
		lease.Release()
	}
}

// refuses fails the test unless Pick and Lease fail with ErrNoBackends and count
// nothing.
func (s *subject) refuses(when string) {
	s.Helper()
	before := s.inFlight()
	if backend, err := s.lb.Pick(); err == nil {
		s.Errorf("Pick %s took %q, want an error that matches ErrNoBackends", when, backend)
	} else if !errors.Is(err, evenkeel.ErrNoBackends) {
		s.Errorf("Pick %s: the error does not match ErrNoBackends: %v", when, err)
	}
	s.refusesLease(s.ctx, evenkeel.ErrNoBackends, when)
	s.wantCounts(before, "after a Lease that failed, %s", when)
}

// refusesLease fails the test unless Lease fails with want and the zero Lease.
func (s *subject) refusesLease(ctx context.Context, want error, when string) {
	s.Helper()
	lease, err := s.lb.Lease(ctx)
	s.wantRefusal(&lease, err, want, when)
}

// wantRefusal fails the test unless a Lease came back with the error want and the
// zero Lease.
func (s *subject) wantRefusal(lease *evenkeel.Lease[string], err, want error, when string) {
	s.Helper()
	switch {
	case err == nil:
		s.Errorf("Lease %s took %q, want the error %v", when, lease.Backend(), want)
		lease.Release()
	case !errors.Is(err, want):
		s.Errorf("Lease %s: the error is %q, want one that matches %q", when, err, want)
	case lease.Backend() != "":
		s.Errorf("Lease %s came back with an error and a lease on %q; with an error it must be the zero Lease", when, lease.Backend())
		lease.Release()
	}
}
