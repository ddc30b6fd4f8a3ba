package evenkeel

import (
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// How the others fare: what a member is compared with. The caller of everything here holds
// Pool.mu.

// asked is how many of the other members a tally asks at most.
const asked = 64

// tally adds up how calls have ended so far on the others; of a large pool it asks a
// random part.
func (p *Pool[T]) tally(m *member[T]) tally {
	t := tally{membership: p.membership}
	if len(p.members) > asked {
		t.from = draw.Index(p.chance.Uint64(), len(p.members))
	}
	t.good, t.bad = p.add2(m, t.from)
	return t
}

// add2 adds up the successes and failures of the members from one on, but for m.
func (p *Pool[T]) add2(m *member[T], from int) (good, bad uint64) {
	for i := range min(len(p.members), asked) {
		if o := p.members[(from+i)%len(p.members)]; o != m {
			good += o.goodSoFar() + uint64(max(o.answered.Load(), 0))
			bad += o.failures
		}
	}
	return good, bad
}

// since returns how calls have ended on the others since a tally. It is nothing if the
// members have changed since.
func (p *Pool[T]) since(m *member[T], t tally) (good, bad float64) {
	if t.membership != p.membership {
		return 0, 0
	}
	g, b := p.add2(m, t.from)
	return float64(g - min(t.good, g)), float64(b - min(t.bad, b))
}

// hasReserve reports whether another tier has a member that nothing is held against and that
// has not failed for as long as a first ejection takes.
func (p *Pool[T]) hasReserve(m *member[T], now time.Duration) bool {
	for i := range min(len(p.members), asked) {
		o := p.members[(m.beside.from+i)%len(p.members)]
		if o.tier != m.tier && o.sound() && (o.failures == 0 || now-o.failedAt >= p.cfg.Ejection.Base) {
			return true
		}
	}
	return false
}

// manyMembers is from where on the overall counts are kept for a hundredth of the window
// instead of being added up at every failure.
const manyMembers = 100

// others returns how calls ended within the window on all members but m: in a pool of
// less than manyMembers only since m's own record began.
func (p *Pool[T]) others(m *member[T], now time.Duration) (good, bad float64) {
	if len(p.members) < manyMembers {
		for _, o := range p.members {
			if o != m && o.used && o.phase == phaseIn {
				o.roll(now)
				g, b := o.window.SumSince(now, m.eraAt)
				good, bad = good+g, bad+b
			}
		}
		return good, bad
	}
	if o := &p.overall; !o.valid || now-o.at > windowOf(&p.cfg)/100 {
		p.addUp(now)
	}
	return p.overall.good - m.part[0], p.overall.bad - m.part[1]
}

// addUp makes the overall counts.
func (p *Pool[T]) addUp(now time.Duration) {
	o := &p.overall
	*o = overall{at: now, valid: true}
	for _, m := range p.members {
		m.part = [2]float64{}
		if !m.used || m.phase != phaseIn {
			continue
		}
		m.roll(now)
		good, bad := m.window.Sum(now)
		m.part = [2]float64{good, bad}
		o.good += good
		o.bad += bad
	}
}
