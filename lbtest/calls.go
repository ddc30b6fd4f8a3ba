package lbtest

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// These checks are about calls that cannot be served, or not yet.

func checkDeadContext(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b")
	errOwn := errors.New("the caller's cause")
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(errOwn)
	late, stop := context.WithDeadlineCause(context.Background(), time.Unix(0, 0), errOwn)
	defer stop()
	plain, stopPlain := context.WithCancel(context.Background())
	stopPlain()
	s.refusesLease(cancelled, errOwn, "with a context that was cancelled with a cause")
	s.refusesLease(late, errOwn, "with a context whose deadline has passed, with a cause")
	s.refusesLease(plain, context.Canceled, "with a context that was cancelled")
	ran := false
	_ = evenkeel.Do(cancelled, s.lb, func(context.Context, string) error { ran = true; return nil })
	if ran {
		t.Errorf("Do ran the function although the context was dead")
	}
	s.wantCounts(nil, "after calls with a dead context")
	for _, stats := range s.pool.All() {
		if stats.Failures != 0 {
			t.Errorf("calls with a dead context were counted as failures")
		}
	}
	RequireIdle(t, s.pool)
}

func checkNilContext(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b")
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("Lease with a nil context panicked, want an error that matches ErrNil: %v", v)
		}
		s.wantCounts(nil, "after a Lease with a nil context")
	}()
	var none context.Context
	s.refusesLease(none, evenkeel.ErrBadConfig, "with a nil context")
}

// checkLimit: at the limit, and without a backlog, Lease fails at once.
func checkLimit(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{MaxInFlight: 2}, "a", "b", "c")
	leases := make([]evenkeel.Lease[string], 6)
	full := map[string]int{"a": 2, "b": 2, "c": 2}
	for i := range leases {
		leases[i] = s.lease()
	}
	s.wantCounts(full, "with as many leases as there are places")
	for range 10 {
		s.refusesLease(s.ctx, evenkeel.ErrOverloaded, "with every backend at its limit")
	}
	s.wantCounts(full, "after calls that were refused at the limit")
	if _, err := s.lb.Pick(); err != nil {
		t.Errorf("Pick with every backend at its limit: %v; it counts nothing, so the limit is not for it", err)
	}
	for i := range leases {
		leases[i].Release()
		again := s.lease() // the one place that is free
		s.wantCounts(full, "after a place was freed and taken again")
		again.Release()
		leases[i] = s.lease()
	}
	for i := range leases {
		leases[i].Release()
	}
	RequireIdle(t, s.pool)
}

// checkBacklog: a call that waits gives up with its context and counts nothing; it
// is served when a place is freed, and fails when nobody is left.
func checkBacklog(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{MaxInFlight: 1, Backlog: 4}, "a")
	held := s.lease()
	defer held.Release() // lets a call that still waits go, if the test fails
	errOwn := errors.New("the caller's cause")

	ctx, cancel := context.WithCancelCause(context.Background())
	got := s.waitFor(ctx)
	cancel(errOwn)
	if err := got("its context was cancelled"); !errors.Is(err, errOwn) {
		t.Errorf("a waiting Lease whose context was cancelled: the error is %v, want the cause", err)
	}
	s.wantCounts(map[string]int{"a": 1}, "after a waiting call gave up")

	got = s.waitFor(context.Background())
	held.Release()
	if err := got("a place was freed"); err != nil {
		t.Errorf("a waiting Lease when a place was freed: %v", err)
	}
	RequireIdle(t, s.pool)

	held = s.lease()
	got = s.waitFor(context.Background())
	s.must(s.pool.Eject("a"))
	if err := got("the last backend was ejected"); !errors.Is(err, evenkeel.ErrNoBackends) {
		t.Errorf("a waiting Lease when the last backend was ejected: the error is %v, want one that matches ErrNoBackends", err)
	}
	held.Release()
	RequireIdle(t, s.pool)
}

// waitFor starts a Lease that has to wait. The function that it returns, called
// when there is no more reason to, says how the call ended; the lease it may have
// got is released.
func (s *subject) waitFor(ctx context.Context) (ended func(when string) error) {
	s.Helper()
	done := make(chan error, 1)
	go func() {
		lease, err := s.lb.Lease(ctx)
		lease.Release()
		done <- err
	}()
	timeout := time.After(patience)
	for waiting(s.pool) == 0 {
		select {
		case err := <-done:
			s.Fatalf("a Lease with every backend at its limit came back (error: %v), want it to wait in the backlog", err)
		case <-timeout:
			s.Fatalf("a Lease with every backend at its limit does not wait in the pool's backlog")
		default:
			runtime.Gosched() // there is nothing that tells
		}
	}
	return func(when string) error {
		s.Helper()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			s.Fatalf("a waiting Lease did not come back when %s", when)
			return nil
		}
	}
}

// waiting is how many calls wait in the backlog.
func waiting(pool *evenkeel.Pool[string]) int { return pool.Backlog().Waiting }
