package lbtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

const (
	callers = 8
	rounds  = 300
)

// checkConcurrent is beside checkInterleaved, which needs no luck: it finds mistakes
// that need several calls at unforeseen moments, if they happen, and what the race
// detector reports. Whatever it reports is a mistake.
//
// Callers lease while backends are ejected, drained, removed and brought back. Each
// of those backends has a turn number that is odd from when the backend is out for
// sure until just before it is let in: a call that finds the same odd number before
// and after it was placed must not be on that backend. And once a backend that is
// out has nothing in flight, no lease on it is open.
func checkConcurrent(t testing.TB, construct constructor) {
	backends := []string{"a", "b", "c", "d", "e", "f"}
	s := newSubject(t, construct, evenkeel.Config{}, backends...)
	turns, drained := map[string]*atomic.Int64{}, map[string]*atomic.Bool{}
	for _, b := range backends {
		turns[b], drained[b] = new(atomic.Int64), new(atomic.Bool)
	}

	var stop atomic.Bool
	var all sync.WaitGroup
	errs := make(chan error, callers+1)
	fail := func(format string, args ...any) {
		stop.Store(true)
		select {
		case errs <- fmt.Errorf(format, args...):
		default:
		}
	}
	var calls atomic.Int64
	call := func(c int) {
		before := map[string]int64{}
		for i := 0; !stop.Load(); i++ {
			for b, turn := range turns {
				before[b] = turn.Load()
			}
			sure := func(b string) bool { n := turns[b].Load(); return n%2 == 1 && n == before[b] }
			if i%4 == 3 {
				b, err := s.lb.Pick()
				switch {
				case err != nil:
					fail("Pick failed although \"a\" was in all the time: %w", err)
				case turns[b] == nil:
					fail("Pick took %q, which is not in the pool", b)
				case sure(b):
					fail("Pick took %q after it was ejected, drained or removed", b)
				}
				continue
			}
			lease, err := s.lb.Lease(context.Background())
			switch b := lease.Backend(); {
			case err != nil:
				fail("Lease failed although \"a\" was in all the time: %w", err)
				continue
			case turns[b] == nil:
				fail("Lease took %q, which is not in the pool", b)
			case sure(b):
				fail("Lease took %q after it was ejected, drained or removed", b)
			}
			runtime.Gosched() // let it be open for a while
			if b := lease.Backend(); drained[b] != nil && drained[b].Load() {
				fail("a lease on %q is open although it was out and had nothing in flight", b)
			}
			end(&lease, c+i, evenkeel.OutcomeNeutral)
			calls.Add(1)
		}
	}
	for c := range callers {
		all.Go(func() {
			if v := panicOf(func() { call(c) }); v != "" {
				fail("a call panics: %s", v)
			}
		})
	}

	all.Go(func() {
		defer stop.Store(true)
		for i := 0; i < rounds && !stop.Load(); i++ {
			b := backends[1+i%(len(backends)-1)]
			var out, in error
			switch i % 3 {
			case 0:
				out = s.pool.Eject(b)
			case 1:
				out = s.pool.SetWeight(b, 0)
			case 2:
				out = s.pool.Replace(without(b, backends...)...)
			}
			turns[b].Add(1)
			for began := calls.Load(); calls.Load() < began+callers && !stop.Load(); {
				if s.pool.InFlight(b) == 0 {
					drained[b].Store(true)
				}
				runtime.Gosched()
			}
			drained[b].Store(false)
			turns[b].Add(1)
			switch i % 3 {
			case 0:
				in = s.pool.Restore(b)
			case 1:
				in = s.pool.SetWeight(b, 1)
			case 2:
				in = s.pool.Replace(backends...)
			}
			if err := errors.Join(out, in); err != nil {
				fail("changing the pool: %w", err)
			}
		}
	})
	all.Wait()
	close(errs)
	for err := range errs {
		t.Errorf("%v", err)
	}
	RequireIdle(t, s.pool)
}
