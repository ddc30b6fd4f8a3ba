package evenkeel

import (
	"math"
	"time"
)

// rampSteps is the number of steps from the floor to the full share.
const rampSteps = 10

// A ramp is how far a member's slow start has come. A step needs time and successes:
// after k tenths of the time and k tenths of the successes it stands at step k. Both are
// read off when somebody asks, so that no call has to count for it. Guarded by Pool.mu.
type ramp struct {
	step    int           // of rampSteps; rampSteps: the full share
	since   time.Duration // when it began
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

// climb takes the steps that are due and reports whether there were any.
func (r *ramp) climb(cfg *SlowStart, now time.Duration, evidence uint64) bool {
	step := min(r.byTime(cfg, now), r.byEvidence(cfg, evidence))
	if !r.climbing() || step <= r.step {
		return false
	}
	r.step = step
	return true
}

func (r *ramp) byTime(cfg *SlowStart, now time.Duration) int {
	return int(min((now-r.since)/stepTime(cfg), rampSteps))
}

func (r *ramp) byEvidence(cfg *SlowStart, evidence uint64) int {
	if evidence <= r.from {
		return 0
	}
	need := math.Ceil(float64(cfg.Successes) / rampSteps)
	return int(min(float64(evidence-r.from)/need, rampSteps))
}

// nextLook is when the ramp may have its next step: when the time is there, or, if that
// is not what is missing, after a tenth of a step.
func (r *ramp) nextLook(cfg *SlowStart, now time.Duration) time.Duration {
	if at := later(r.since, stepTime(cfg)*time.Duration(r.step+1)); at > now {
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
