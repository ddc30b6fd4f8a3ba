package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// The end of a lease, wherever more than counting down is to be done.

// endAsked ends a lease whose outcome is yet to be judged. If a rule of the user's panics
// the lease is over all the same, and the panic goes on.
func (p *Pool[T]) endAsked(ctx context.Context, m *member[T], start uint32, begun *beginning[T], err error) {
	outcome := OutcomeNeutral
	defer func() { p.end(m, start, begun, outcome, err) }()
	if p.cfg.Outcome != nil {
		outcome = p.cfg.Outcome(ctx, err).known()
	} else {
		outcome = DefaultOutcome(ctx, err)
	}
}

func (p *Pool[T]) end(m *member[T], start uint32, begun *beginning[T], outcome Outcome, err error) {
	p.ended(m, start, outcome, err)
	if begun != nil {
		begun.over(m.backend, p.elapsed(), outcome, err)
	}
}

func (p *Pool[T]) ended(m *member[T], start uint32, outcome Outcome, err error) {
	n := m.full(start)
	switch outcome {
	case OutcomeSuccess:
		if n <= m.era.Load() {
			m.late.Add(1)
		} else {
			m.succeeded(start)
		}
		if left := m.uncount(); booked(left) == 0 {
			m.also.And(^alsoOld)
		}
	case OutcomeUnreported:
		m.released.Add(1)
		m.uncount()
	case OutcomeOverloaded: // it stays on the books: see busy
		m.other.Add(1)
		p.busy(m, n, err)
		return
	case OutcomeFailure: // whether it stays on the books: see note
		m.also.Or(alsoOrder) // before it is over: see Lease.Done
		m.other.Add(1)
	case OutcomeDeadline:
		m.also.Or(alsoOrder) // before it is over: see Lease.Done
		m.other.Add(1)
		m.uncount()
	default:
		m.other.Add(1)
		m.uncount()
	}
	if outcome != OutcomeNeutral && outcome != OutcomeFailure {
		p.payOff()
	}
	if outcome == OutcomeFailure || outcome == OutcomeDeadline || m.also.Load()&(alsoJudge|alsoOrder) != 0 {
		p.note(m, n, outcome, err)
	}
	p.serveAfter()
	p.deliver()
}

// note is the part of ended that needs the lock.
func (p *Pool[T]) note(m *member[T], start uint64, outcome Outcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.elapsed()
	if outcome == OutcomeFailure || outcome == OutcomeDeadline {
		m.failures++
		m.lastErr = orOutcome(err, outcome)
		m.failedAt = now
	}
	if outcome == OutcomeFailure {
		p.hold(m, now)
	}
	changed := p.judge(m, start, outcome, now)
	if changed {
		p.changed(m, now)
	}
	if outcome == OutcomeFailure || outcome == OutcomeDeadline {
		changed = p.review(now) || changed
	}
	if changed {
		p.settle(now)
	}
	if len(m.run) == 0 || m.run[len(m.run)-1].start <= m.newest.Load() {
		m.forgetRun()
	}
}

// maxPause bounds what Retry-After can ask for.
const maxPause = 30 * time.Second

// busy is the end of a call that was refused because the backend is busy.
func (p *Pool[T]) busy(m *member[T], start uint64, err error) {
	p.mu.Lock()
	now := p.elapsed()
	m.lastErr, m.failedAt = orOutcome(err, OutcomeOverloaded), now
	p.hold(m, now)
	changed := m.phase == phaseTried && start == m.trial
	if changed {
		p.letIn(m, now) // it is alive
	}
	var b *BusyError
	if errors.As(err, &b) && b.RetryAfter > 0 {
		pause := min(b.RetryAfter, maxPause)
		pause -= time.Duration(float64(pause) * 0.1 * draw.Unit(p.chance.Uint64()))
		m.pausedTo = max(m.pausedTo, later(now, pause))
		changed = true
	}
	if changed {
		p.changed(m, now)
		p.settle(now)
	}
	p.mu.Unlock()
	p.serveAfter()
	p.deliver()
}

func orOutcome(err error, outcome Outcome) error {
	if err == nil {
		return fmt.Errorf("a call ended as %v", outcome)
	}
	return err
}

// answer draws the consequences of Lease.Answered.
func (p *Pool[T]) answer(m *member[T], start uint32) {
	m.succeeded(start)
	if m.also.Load()&(alsoJudge|alsoOrder) == 0 {
		return
	}
	p.note(m, m.full(start), OutcomeSuccess, nil)
	p.serveAfter()
	p.deliver()
}
