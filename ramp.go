package evenkeel

import (
	"math"
	"time"
)

// rampSteps is the number of steps from the floor to the full share.
const rampSteps = 10

// A ramp is how far a member's slow start has come. A step needs time and successes: a
// tenth of each since the step before. Both are read off when somebody asks, so that no
// call has to count for it. Guarded by Pool.mu.
type ramp struct {
	step    int           // of rampSteps; rampSteps: the full share
	since   time.Duration // when the step was reached
	from    uint64        // the member's evidence of success then
	floor   float64       // the share of step 0
	allowed float64       // the share that picks go by, made in Pool.publish
}

func (r *ramp) climbing() bool { return r.step < rampSteps }

func (r *ramp) start(cfg *SlowStart, now time.Duration, evidence uint64) {
	*r = ramp{since: now, from: evidence, floor: cfg.Floor, allowed: r.allowed}
}

func (r *ramp) end() { r.step = rampSteps }

// share is the part of its weight that the member has by itself: from the floor to 1 in
// equal steps.
func (r *ramp) share() float64 {
	if !r.climbing() {
		return 1
	}
	return r.floor + (1-r.floor)*float64(r.step)/rampSteps
}

// climb takes the next step, if it is due, and reports whether it was.
func (r *ramp) climb(cfg *SlowStart, now time.Duration, evidence uint64) bool {
	need := uint64(math.Ceil(float64(cfg.Successes) / rampSteps))
	if !r.climbing() || now-r.since < stepTime(cfg) || evidence < r.from+need {
		return false
	}
	r.step++
	r.since, r.from = now, evidence
	return true
}

// nextLook is when the ramp may have its next step: when the time is there, or, if that
// is not what is missing, after a tenth of a step.
func (r *ramp) nextLook(cfg *SlowStart, now time.Duration) time.Duration {
	if at := later(r.since, stepTime(cfg)); at > now {
		return at
	}
	return later(now, max(stepTime(cfg)/10, 1))
}

func stepTime(cfg *SlowStart) time.Duration { return max(cfg.Window/rampSteps, 1) }

// lift is how far ramping members are raised toward their full share, from 0 to 1, so
// that the members which are not ramping carry at most twice their own part of a tier:
// what all weigh by their ramps must be at least half of what they weigh.
func lift(weight, ramped float64) float64 {
	if missing := weight/2 - ramped; missing > 0 {
		return missing / (weight - ramped)
	}
	return 0
}
