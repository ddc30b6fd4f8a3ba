package evenkeel

import (
	"math"
	"time"
)

// ramp is how far a member's slow start has come. Guarded by Pool.mu.
type ramp struct {
	step   int           // of rampSteps; rampSteps: not ramping
	since  time.Duration // when the step was reached
	passed int           // calls that ended without a failure since then
	floor  float64
}

// share is the part of its weight that the member has, above 0 and at most 1:
// from the floor to 1 in equal steps.
func (r *ramp) share() float64 {
	if r.step >= rampSteps {
		return 1
	}
	return r.floor + (1-r.floor)*float64(r.step)/rampSteps
}

// share is the weight that picks go by: the one that was set, times the part of it
// that slow start allows.
func (s *standing) share() float64 { return s.weight * s.ramp.share() }

// sound reports whether nothing is held against the member.
func (s *standing) sound() bool {
	return !s.removed && !s.byHand && !s.down && s.weight > 0 && s.phase == phaseIn
}

// startSlowly puts members that are new or back on the ramp, unless there is
// nobody at full share to spare them: when all are new none is held back. The
// caller holds p.mu.
func (p *Pool[T]) startSlowly(fresh ...*member[T]) {
	if p.cfg.SlowStart.Off {
		return
	}
	isFresh := make(map[*member[T]]bool, len(fresh))
	for _, m := range fresh {
		isFresh[m] = true
	}
	settled := false
	for _, m := range p.members {
		settled = settled || !isFresh[m] && m.sound() && m.ramp.step >= rampSteps
	}
	if !settled {
		return
	}
	now := p.elapsed()
	for _, m := range fresh {
		m.ramp = ramp{since: now, floor: p.cfg.SlowStart.Floor}
		m.attend.Or(attendState)
	}
}

// climb counts a call that ended well on a member that is ramping, and reports
// whether it has reached its next step.
func (r *ramp) climb(cfg *SlowStart, now time.Duration) bool {
	r.passed++
	need := int(math.Ceil(float64(cfg.Successes) / rampSteps))
	if r.passed < need || now-r.since < cfg.Window/rampSteps {
		return false
	}
	r.step++
	r.since, r.passed = now, 0
	return true
}
