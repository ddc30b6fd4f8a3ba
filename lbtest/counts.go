package lbtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// These checks are about the counts: each lease is one call in flight on one
// backend until it ends.

func checkCounts(t testing.TB, construct constructor) {
	for _, backends := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c", "d", "e", "f", "g"}} {
		s := newSubject(t, construct, evenkeel.Config{}, backends...)
		s.wantCounts(nil, "before the first lease")
		leases := make([]evenkeel.Lease[string], 3*len(backends))
		open := map[string]int{}
		for i := range leases {
			leases[i] = s.lease()
			open[leases[i].Backend()]++
			s.wantCounts(open, "with %d leases open", i+1)
		}
		for i := range leases {
			end(&leases[i], i, evenkeel.OutcomeNeutral)
			open[leases[i].Backend()]--
			s.wantCounts(open, "with %d of %d leases ended", i+1, len(leases))
		}
		RequireIdle(t, s.pool)
	}
}

// end ends a lease in one of the ways there are, by turns.
func end(lease *evenkeel.Lease[string], turn int, judged evenkeel.Outcome) {
	switch turn % 3 {
	case 0:
		lease.Release()
	case 1:
		lease.Done(nil)
	case 2:
		lease.DoneAs(judged, nil)
	}
}

func checkPick(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c")
	lease := s.lease()
	open := map[string]int{lease.Backend(): 1}
	for i := range 100 {
		backend, err := s.lb.Pick()
		if err != nil {
			t.Fatalf("Pick: %v", err)
		}
		if _, member := s.inFlight()[backend]; !member {
			t.Fatalf("Pick took %q, which is not in the pool", backend)
		}
		s.wantCounts(open, "with one lease open and after %d picks", i+1)
	}
	lease.Release()
	RequireIdle(t, s.pool)
}

func checkEndsOnce(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a")
	kept := s.lease()
	for range 50 {
		lease := s.lease()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if v := panicOf(func() { end(&lease, i, evenkeel.OutcomeSuccess) }); v != "" {
					t.Errorf("the end of a lease panics: %s", v)
				}
			})
		}
		all.Wait()
		lease.Release()
		s.wantCounts(map[string]int{"a": 1}, "after one of two leases was ended from 8 goroutines")
	}
	kept.Release()
	RequireIdle(t, s.pool)
}

// checkRemoved: a backend that is removed keeps its open leases, and is the same
// one if it comes back while they are.
func checkRemoved(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a")
	first := s.lease()
	s.must(s.pool.Replace("b"))
	if got := s.pool.InFlight("a"); got != 1 {
		t.Errorf("a backend was removed with one lease open: %d in flight there", got)
	}
	if got := first.Backend(); got != "a" {
		t.Errorf("the lease's backend turned from \"a\" into %q when it was removed", got)
	}
	s.onlyUsable("after Replace left it out")
	s.must(s.pool.Replace("a"))
	second := s.lease()
	s.wantCounts(map[string]int{"a": 2}, "the backend is back, with an old and a new lease")
	first.Release()
	s.wantCounts(map[string]int{"a": 1}, "the old lease has ended")
	second.Release()
	s.wantCounts(nil, "both leases have ended")

	last := s.lease()
	s.must(s.pool.Replace("b"))
	last.Release()
	RequireIdle(t, s.pool)
}

// checkDo: whatever the function does, its call is over when Do is.
func checkDo(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c")
	errOwn := errors.New("the call failed")
	background := context.Background()

	do := func(ctx context.Context, fn func(ctx context.Context, backend string) error) error {
		return evenkeel.Do(ctx, s.lb, func(ctx context.Context, backend string) error {
			s.wantCounts(map[string]int{backend: 1}, "within Do")
			return fn(ctx, backend)
		})
	}
	idle := func(after string) { s.wantCounts(nil, "after Do ended by %s", after) }

	if err := do(background, func(context.Context, string) error { return nil }); err != nil {
		t.Errorf("Do of a function that succeeds: %v", err)
	}
	idle("a success")

	if err := do(background, func(context.Context, string) error { return errOwn }); !errors.Is(err, errOwn) {
		t.Errorf("Do of a function that fails: got the error %v, want its own", err)
	}
	idle("an error")

	func() {
		defer func() {
			if v := recover(); v != errOwn {
				t.Errorf("Do of a function that panics: recovered %v, want its own panic", v)
			}
		}()
		_ = do(background, func(context.Context, string) error { panic(errOwn) })
	}()
	idle("a panic")

	var gone sync.WaitGroup
	gone.Go(func() {
		_ = do(background, func(context.Context, string) error { runtime.Goexit(); return nil })
	})
	gone.Wait()
	idle("runtime.Goexit")

	ctx, cancel := context.WithCancelCause(background)
	if err := do(ctx, func(ctx context.Context, _ string) error {
		cancel(errOwn)
		<-ctx.Done()
		return context.Cause(ctx)
	}); !errors.Is(err, errOwn) {
		t.Errorf("Do of a call that is cancelled: got the error %v, want the cause", err)
	}
	idle("a cancellation")

	ctx, stop := context.WithTimeout(background, time.Millisecond)
	defer stop()
	err := evenkeel.Do(ctx, s.lb, func(ctx context.Context, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.DeadlineExceeded) { // also if it passed before the pick
		t.Errorf("Do of a call whose deadline passes: got the error %v", err)
	}
	idle("a deadline")

	_ = do(background, func(context.Context, string) error {
		s.must(s.pool.Replace("d"))
		return nil
	})
	idle("the removal of its backend")
	RequireIdle(t, s.pool)
}

// checkOutcomes: what Done is given reaches the pool, for the backend that had the
// call and with the context that the caller gave.
func checkOutcomes(t testing.TB, construct constructor) {
	type key struct{}
	errOwn := errors.New("the call failed")
	var judged []string
	s := newSubject(t, construct, evenkeel.Config{
		Outcome: func(ctx context.Context, err error) evenkeel.Outcome {
			judged = append(judged, fmt.Sprintf("%v, %v", ctx.Value(key{}), err))
			return evenkeel.DefaultOutcome(ctx, err)
		},
	}, "a", "b", "c")
	failures := func() map[string]int {
		n := map[string]int{}
		for backend, stats := range s.pool.All() {
			n[backend] = int(stats.Failures)
		}
		return n
	}
	lease := func(ctx context.Context) (lease evenkeel.Lease[string]) {
		lease, err := s.lb.Lease(ctx)
		if err != nil {
			t.Fatalf("Lease: %v", err)
		}
		return
	}

	ctx := context.WithValue(context.Background(), key{}, "the caller's")
	failed := lease(ctx)
	failed.Done(errOwn)
	if want := "the caller's, the call failed"; len(judged) != 1 || judged[0] != want {
		t.Errorf("Config.Outcome was given %q, want once the value in the context of Lease and the error of Done: %q", judged, want)
	}
	for backend, n := range failures() {
		want := 0
		if backend == failed.Backend() {
			want = 1
		}
		if n != want {
			t.Errorf("a call on %q failed: %d failures on %q, want %d", failed.Backend(), n, backend, want)
		}
	}

	before := failures()
	ctx, cancel := context.WithCancelCause(ctx)
	given := lease(ctx)
	cancel(errors.New("not wanted any more"))
	given.Done(errOwn)
	if after := failures(); after[given.Backend()] != before[given.Backend()] {
		t.Errorf("a call was cancelled by its caller and was counted as a failure of %q: the lease must be made with the caller's context", given.Backend())
	}
	RequireIdle(t, s.pool)
}
