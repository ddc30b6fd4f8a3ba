package evenkeel

import (
	"fmt"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
	"github.com/evenkeel-go/evenkeel/internal/outlier"
)

// judge draws the consequences of an outcome, and reports whether the member's standing
// has changed. start is the lease's number. The caller holds p.mu.
func (p *Pool[T]) judge(m *member[T], start uint64, outcome Outcome, now time.Duration) bool {
	cfg := &p.cfg.Ejection
	if m.phase == phaseTried && start == m.trial {
		return p.verdict(m, outcome, now)
	}
	if m.phase != phaseIn || start <= m.era.Load() || cfg.Off {
		return false // begun before it was ejected or came back: of another time
	}
	if outcome != OutcomeFailure && outcome != OutcomeDeadline {
		return false
	}
	if outcome == OutcomeFailure && cfg.Consecutive > 0 {
		if n := m.failedAgain(start, cfg.Consecutive); n >= cfg.Consecutive {
			return p.eject(m, now, fmt.Errorf("%d failures in a row, the last: %w", n, m.lastErr))
		}
	}
	if cfg.Window > 0 {
		m.window.Add(now)
		if why := p.outlier(m, now); why != nil {
			return p.eject(m, now, why)
		}
	}
	return false
}

// verdict ends a trial.
func (p *Pool[T]) verdict(m *member[T], outcome Outcome, now time.Duration) bool {
	switch outcome {
	case OutcomeSuccess:
		m.phase, m.backAt = phaseIn, now
		m.also.And(^alsoJudge)
		m.newEra(now)
		p.startSlowly(now, m)
	case OutcomeFailure:
		p.takeOut(m, now, fmt.Errorf("it failed its trial: %w", m.lastErr))
	case OutcomeDeadline:
		// Not proven either way, but not worth a caller after another: out for one Base
		// more, without counting as a relapse.
		m.phase, m.until = phaseOut, later(now, p.cfg.Ejection.Base)
		m.also.And(^alsoJudge)
		m.newEra(now)
	default:
		m.phase = phaseOffered // it said nothing of the backend: given again
		m.also.And(^alsoJudge)
	}
	return true
}

// eject takes a member out by outcome, unless that would take more than MaxEjected of
// its tier, or the last one. The caller holds p.mu, so that the test and the ejection are
// one step.
func (p *Pool[T]) eject(m *member[T], now time.Duration, reason error) bool {
	sound := p.soundMembers()
	if m.sound() {
		sound--
	}
	if !m.usable() || sound == 0 {
		return false
	}
	without := *m.tier // the tier as it would be
	without.count[m.counted]--
	without.count[classOut]++
	if without.count[classOut] > p.mayEject(&without, sound) {
		return false
	}
	p.takeOut(m, now, reason)
	return true
}

func (p *Pool[T]) takeOut(m *member[T], now time.Duration, reason error) {
	cfg := &p.cfg.Ejection
	if m.times > 0 {
		healthy := int((now - m.backAt) / 6 / cfg.Base)
		if m.phase == phaseTried {
			healthy = 0
		}
		m.level = max(m.level-healthy, 0)
	}
	top := int((cfg.Max-1)/cfg.Base) + 1 // rounded up
	m.level = min(m.level+1, top)
	length := cfg.Max
	if m.level < top {
		length = time.Duration(m.level) * cfg.Base
	}
	length -= time.Duration(float64(length) * cfg.Jitter * draw.Unit(p.chance.Uint64()))
	m.phase, m.until = phaseOut, later(now, length)
	m.times++
	m.reason = reason
	m.ramp.end()
	m.also.And(^alsoJudge)
	m.newEra(now)
	p.forgive(m)
}

// alpha is the probability, under the hypothesis of equal failure rates, below which a
// difference is taken for real. It is tested at every failure, so it is small.
const alpha = 1e-7

var lnAlpha = math.Log(alpha)

// outlier returns why a member fails more often than the others do, or nil. The member
// is left out of what it is compared with, so the test works from two members up. Both
// tests are exact: Fisher's, one-sided, against the others (whose own rate is not known
// either), and the binomial against Ejection.Tolerance. Members without calls in the
// window have no say. The caller holds p.mu.
func (p *Pool[T]) outlier(m *member[T], now time.Duration) error {
	cfg := &p.cfg.Ejection
	m.roll(now)
	good, bad := m.window.Sum(now)
	if bad < float64(cfg.MinFailures) || outlier.LnBinomialTail(bad, good+bad, cfg.Tolerance) > lnAlpha {
		return nil
	}
	othersGood, othersBad := p.others(m, now)
	if outlier.LnFisherTail(bad, good+bad, othersBad, othersGood+othersBad) > lnAlpha {
		return nil
	}
	return fmt.Errorf("%.0f of %.0f calls failed within %v, against %.0f of %.0f on the others, the last: %w",
		bad, good+bad, cfg.Window, othersBad, othersGood+othersBad, m.lastErr)
}

// manyMembers is from where on the overall counts are kept for a hundredth of the window
// instead of being added up at every failure.
const manyMembers = 100

// others returns how calls ended within the window on all members but m.
func (p *Pool[T]) others(m *member[T], now time.Duration) (good, bad float64) {
	cfg := &p.cfg.Ejection
	if o := &p.overall; !o.valid || len(p.members) < manyMembers || now-o.at > cfg.Window/100 {
		*o = overall{at: now, valid: true}
		for _, each := range p.members {
			each.part = [2]float64{}
			if !each.used || each.phase != phaseIn {
				continue
			}
			each.roll(now)
			g, b := each.window.Sum(now)
			each.part = [2]float64{g, b}
			o.good += g
			o.bad += b
		}
	}
	return p.overall.good - m.part[0], p.overall.bad - m.part[1]
}
