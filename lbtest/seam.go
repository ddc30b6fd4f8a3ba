package lbtest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// A seam is where code of the suite runs in the middle of a balancer's call: the
// balancer, or the pool that it picks from, calls pass. The suite decides at which
// pass it acts, so that it can go through all moments of a call one by one.
type seam struct {
	left atomic.Int64 // passes until act runs; not above 0: it does not run
	act  func()
}

// arm makes act run at the n-th pass from now, once.
func (m *seam) arm(n int, act func()) {
	m.act = act
	m.left.Store(int64(n))
}

// disarm reports whether act has run, and keeps it from running later.
func (m *seam) disarm() (ran bool) { return m.left.Swap(0) <= 0 }

func (m *seam) pass() {
	if m.left.Add(-1) == 0 {
		m.act()
	}
}

// A seamKind is one of the functions by which a call leaves the balancer's code.
type seamKind struct {
	name string
	// open returns a subject whose calls pass m there.
	open func(t testing.TB, construct constructor, m *seam, cfg evenkeel.Config, backends ...string) *subject
}

var seamKinds = []seamKind{
	{"the context", openContext},
	{"the load signal", openSignal},
	{"the clock", openClock},
}

// openContext: each look at the caller's context is a pass. Every Lease has to look.
func openContext(t testing.TB, construct constructor, m *seam, cfg evenkeel.Config, backends ...string) *subject {
	t.Helper()
	s := newSubject(t, construct, cfg, backends...)
	s.ctx = passingContext{s.ctx, m}
	return s
}

// passingContext is a context that passes a seam when it is looked at.
type passingContext struct {
	context.Context
	seam *seam
}

func (c passingContext) Err() error {
	c.seam.pass()
	return c.Context.Err()
}

func (c passingContext) Done() <-chan struct{} {
	c.seam.pass()
	return c.Context.Done()
}

// openSignal: each look at a backend's load is a pass. A policy that compares loads
// has to look, in Pick as in Lease.
func openSignal(t testing.TB, construct constructor, m *seam, cfg evenkeel.Config, backends ...string) *subject {
	t.Helper()
	s := newSubject(t, construct, cfg, backends...)
	setLoad(s.pool, func(inFlight int) float64 {
		m.pass()
		return float64(inFlight)
	})
	return s
}

// setLoad makes signal the load signal of every backend.
func setLoad(pool *evenkeel.Pool[string], signal func(inFlight int) float64) {
	pool.SetLoad(func(string) func(int) float64 { return signal })
}

// openClock: each look at the pool's clock is a pass. Every pick has to look while
// the end of an ejection is awaited, so the pool gets one member more, which an
// outcome has ejected.
func openClock(t testing.TB, construct constructor, m *seam, cfg evenkeel.Config, backends ...string) *subject {
	t.Helper()
	cfg.Now = func() time.Time {
		m.pass()
		return time.Unix(1_000_000, 0) // it stands still: the ejection does not end
	}
	cfg.Ejection.Consecutive = 1
	s := newSubject(t, construct, cfg, append(slices.Clone(backends), sick)...)
	s.failOnce(sick)
	return s
}

// sick is the name of the backend that outcomes eject.
const sick = "sick"

// failOnce makes one call to the last member of the pool, which must be backend,
// and reports it as failed.
func (s *subject) failOnce(backend string) {
	s.Helper()
	last := evenkeel.NewDispatcher(s.pool, lastPolicy{})
	lease, err := last.Lease(context.Background())
	if err != nil || lease.Backend() != backend {
		s.Fatalf("lbtest: a Lease for the last member took %q (error: %v), want %q", lease.Backend(), err, backend)
	}
	lease.DoneAs(evenkeel.OutcomeFailure, errors.New("refused"))
}

// lastPolicy takes the last backend.
type lastPolicy struct{}

func (lastPolicy) Choose(v evenkeel.View) (int, evenkeel.Load) { return v.Len() - 1, evenkeel.Load{} }
