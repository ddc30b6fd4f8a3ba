package lbtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// checkInterleaved changes the pool in the middle of a call: in every way that
// takes backends out, at every moment of the call at which the suite gets a word
// in. Every backend that the call can have seen goes out, and another one comes
// in. At that moment other calls are made as well; they begin after the change, so
// they may use the new backend only. No chance is in it: what it finds it finds
// every time.
func checkInterleaved(t testing.TB, construct constructor) {
	for _, kind := range seamKinds {
		for _, swap := range swaps {
			for _, call := range subjectCalls {
				for moment := 1; moment <= maxMoments; moment++ {
					in := interleaving{kind: kind, swap: swap, call: call, moment: moment}
					if !in.run(t, construct) {
						break // the call has no such moment: it is all done
					}
				}
			}
		}
	}
}

// maxMoments bounds the moments of one call. The calls of most balancers have less
// than ten with the few backends that the check uses.
const maxMoments = 64

// old are the members that a swap takes out, and fresh is the one that it brings in.
var old = []string{"a", "b", "c"}

const fresh = "z"

// A swap is a way to exchange the backends that are in use for another one.
type swap struct {
	name    string
	prepare func(pool *evenkeel.Pool[string]) error // takes fresh out
	in      func(pool *evenkeel.Pool[string]) error // brings fresh in
	out     func(pool *evenkeel.Pool[string], old string) error
}

var swaps = []swap{
	{
		name:    "Eject",
		prepare: func(pool *evenkeel.Pool[string]) error { return pool.Eject(fresh) },
		in:      func(pool *evenkeel.Pool[string]) error { return pool.Restore(fresh) },
		out:     func(pool *evenkeel.Pool[string], old string) error { return pool.Eject(old) },
	},
	{
		name:    "SetWeight",
		prepare: func(pool *evenkeel.Pool[string]) error { return pool.SetWeight(fresh, 0) },
		in:      func(pool *evenkeel.Pool[string]) error { return pool.SetWeight(fresh, 1) },
		out:     func(pool *evenkeel.Pool[string], old string) error { return pool.SetWeight(old, 0) },
	},
	{
		name:    "SetHealth",
		prepare: func(pool *evenkeel.Pool[string]) error { return setHealth(pool, fresh, errDown) },
		in:      func(pool *evenkeel.Pool[string]) error { return setHealth(pool, fresh, nil) },
		out:     func(pool *evenkeel.Pool[string], old string) error { return setHealth(pool, old, errDown) },
	},
	{
		name:    "Replace",
		prepare: func(pool *evenkeel.Pool[string]) error { return pool.Replace(without(fresh, members(pool)...)...) },
		in: func(pool *evenkeel.Pool[string]) error {
			return pool.Replace(append([]string{fresh}, members(pool)...)...)
		},
		out: func(pool *evenkeel.Pool[string], old string) error {
			return pool.Replace(without(old, members(pool)...)...)
		},
	},
}

// members are the pool's members, in its order.
func members(pool *evenkeel.Pool[string]) []string {
	var list []string
	for backend := range pool.All() {
		list = append(list, backend)
	}
	return list
}

// An answer is what a call to the balancer returned.
type answer struct {
	lease   evenkeel.Lease[string] // the zero Lease if the call counts nothing
	backend string
	err     error
}

// A subjectCall is one way to ask the balancer for a backend.
type subjectCall struct {
	name   string
	counts bool // the call takes a lease
	ask    func(s *subject, got *answer)
}

var subjectCalls = []subjectCall{
	{"Pick", false, func(s *subject, got *answer) { got.backend, got.err = s.lb.Pick() }},
	{"Lease", true, func(s *subject, got *answer) {
		got.lease, got.err = s.lb.Lease(s.ctx)
		got.backend = got.lease.Backend()
	}},
}

// An interleaving is one call with one change of the pool at one of its moments.
type interleaving struct {
	kind   seamKind
	swap   swap
	call   subjectCall
	moment int // the change comes at this pass of the seam, from 1
}

func (in *interleaving) String() string {
	return fmt.Sprintf("%s takes out what was in use and brings in %q while %s looks at %s (look %d)",
		in.swap.name, fresh, in.call.name, in.kind.name, in.moment)
}

// run makes the call and judges it. It reports false if the call ended before it
// came to the moment.
func (in *interleaving) run(t testing.TB, construct constructor) (reached bool) {
	t.Helper()
	m := new(seam)
	s := in.kind.open(t, construct, m, evenkeel.Config{PanicShare: 1}, append(slices.Clone(old), fresh)...)
	s.must(in.swap.prepare(s.pool))

	mid := middle{over: make(chan struct{}), got: make([]answer, len(subjectCalls))}
	m.arm(in.moment, func() {
		defer close(mid.over)
		mid.happen(s, in.swap)
	})
	var got answer
	in.call.ask(s, &got)
	if reached = m.disarm(); reached {
		<-mid.over
		for _, a := range mid.asides {
			s.await(a, "a call that began while another one was under way")
		}
		in.judge(s, &got, &mid)
	}
	got.lease.Release()
	for i := range mid.got {
		mid.got[i].lease.Release()
	}
	RequireIdle(t, s.pool)
	return reached
}

// judge fails the test if a call was wrong. When it begins all calls have returned.
func (in *interleaving) judge(s *subject, got *answer, mid *middle) {
	s.Helper()
	s.must(mid.err)
	open := map[string]int{}
	count := func(call subjectCall, got *answer) {
		if call.counts && got.err == nil {
			open[got.backend]++
		}
	}
	switch {
	case got.err != nil:
		s.Fatalf("%v: %s fails with %v, although a usable backend was there all the time", in, in.call.name, got.err)
	case got.backend != fresh && !slices.Contains(old, got.backend):
		s.Fatalf("%v: %s takes %q, which it must never take", in, in.call.name, got.backend)
	case got.backend != fresh && in.call.counts && mid.changed && mid.idle:
		s.Fatalf("%v: %s counts a call on %q, which was out and had nothing in flight", in, in.call.name, got.backend)
	}
	count(in.call, got)
	for i, call := range subjectCalls[:mid.asked] {
		switch got := &mid.got[i]; {
		case got.err != nil:
			s.Fatalf("%v: a %s that begins after the change fails with %v", in, call.name, got.err)
		case got.backend != fresh:
			s.Fatalf("%v: a %s that begins after the change takes %q", in, call.name, got.backend)
		}
		count(call, &mid.got[i])
	}
	s.wantCounts(open, "%v: after all calls have returned", in)
	s.onlyUsable(fmt.Sprintf("after %v", in))
}

// middle is what happens in the middle of a call.
type middle struct {
	over    chan struct{}
	asides  []*aside
	changed bool     // the change was over when the call got on
	err     error    // of the change
	idle    bool     // after the change nothing was in flight on what is out
	asked   int      // how many of subjectCalls were made after the change
	got     []answer // what they returned, beside subjectCalls
}

// happen changes the pool and makes calls. Nothing of it is on the goroutine of
// the call that is under way, which may hold locks: what cannot be done before that
// call gets on is left to be done then.
func (mid *middle) happen(s *subject, swap swap) {
	beside := func(f func()) (returned bool) {
		a := startAside(f)
		mid.asides = append(mid.asides, a)
		return a.settle()
	}
	mid.changed = beside(func() {
		mid.err = swap.in(s.pool)
		mid.idle = true
		for _, b := range old {
			mid.err = errors.Join(mid.err, swap.out(s.pool, b))
			mid.idle = mid.idle && s.pool.InFlight(b) == 0
		}
	})
	if !mid.changed {
		return // the pool is locked at this moment: the change will come later
	}
	for i, call := range subjectCalls {
		mid.asked++
		beside(func() { call.ask(s, &mid.got[i]) })
	}
}
