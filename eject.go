package evenkeel

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// verdict ends a trial. A failure, or a deadline that passed, ejects the member again, for
// longer if the others have done better meanwhile.
func (p *Pool[T]) verdict(m *member[T], outcome Outcome, now time.Duration) {
	switch outcome {
	case OutcomeSuccess:
		p.letIn(m, now)
	case OutcomeFailure:
		p.relapse(m, now, fmt.Errorf("it failed its trial: %w", m.lastErr))
	case OutcomeDeadline:
		p.relapse(m, now, fmt.Errorf("its trial did not end before the caller's deadline: %w", m.lastErr))
	default:
		m.phase = phaseOffered // it said nothing of the backend: given again
		m.judgeEnds()
	}
}

// letIn ends an ejection. A member that comes back while the others fail too is no
// newcomer: what it suffered was not its own.
func (p *Pool[T]) letIn(m *member[T], now time.Duration) {
	shared := p.othersFail(m, sharedRate)
	m.phase, m.backAt = phaseIn, now
	m.trust()
	m.newEra(now)
	if !shared {
		p.startSlowly(now, m)
	}
}

// relapse ejects a member again after its trial. While the others fail as well the
// member is out for one Base more, which does not count.
func (p *Pool[T]) relapse(m *member[T], now time.Duration, reason error) {
	level, shared := m.level, p.othersFail(m, sharedRate)
	if shared {
		m.level = 0
	}
	p.takeOut(m, now, reason)
	if shared {
		m.level = level
		m.times--
	}
}

// eject takes a member out by outcome, unless that would take more than MaxEjected of
// its tier, or the last one. The caller holds p.mu, so that the test and the ejection are
// one step. rate is the share of its calls that failed.
func (p *Pool[T]) eject(m *member[T], now time.Duration, rate float64, reason error) bool {
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
		was := m.doubted
		m.doubt() // it stays, with few calls
		return !was
	}
	p.takeOut(m, now, reason)
	m.rate, m.others = rate, p.tally(m)
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
	m.trust()
	m.newEra(now)
	p.forgive(m)
}

// sharedRate is the share of failed calls among the others, since a member was ejected,
// from where on its trouble is not its own.
const sharedRate = 0.2

// othersFail reports whether the others have failed that often since m was ejected.
func (p *Pool[T]) othersFail(m *member[T], rate float64) bool {
	good, bad := p.since(m, m.others)
	return bad >= 10 && bad >= rate*(good+bad)
}

// review takes back the ejections that have helped nobody: since then the others have
// failed as often, or nearly, as the member had. It looks at most once in a hundredth of
// Ejection.Window. The caller holds p.mu.
func (p *Pool[T]) review(now time.Duration) (changed bool) {
	if now < p.reviewAt {
		return false
	}
	p.reviewAt = later(now, windowOf(&p.cfg)/100)
	for _, t := range p.tiers {
		if t.count[classOut] == 0 {
			continue
		}
		for _, m := range p.members {
			if m.tier == t && m.phase != phaseIn && p.othersFail(m, max(0.4*m.rate, sharedRate)) {
				m.level = max(m.level-1, 0)
				p.letIn(m, now)
				p.changed(m, now)
				changed = true
			}
		}
	}
	return changed
}
