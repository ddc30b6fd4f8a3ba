package evenkeel

import (
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// Learning from what calls bring back, beside how they ended: reports and latencies.

// Report hands over what a backend said of its own load outside any call: the answer to a
// probe. A pool that has few calls for each backend within a service time knows little of
// them by the reports that come with answers; probes of a few random backends for each
// call fill that in. The error matches ErrUnknownBackend; a report that is out of range is
// refused and counted in Stats.BadReports.
func (p *Pool[T]) Report(b T, r Report) error {
	p.mu.Lock()
	m, err := p.find(b, false)
	p.mu.Unlock()
	if err == nil {
		p.takeReport(m, r)
	}
	return err
}

// takeReport keeps a report of m.
func (p *Pool[T]) takeReport(m *member[T], r Report) {
	now := p.elapsed()
	if !m.take(r, now) {
		return
	}
	m.held.Store(packHeld(r.InFlight, starts(m.word.Load())))
	if !p.beliefs.mu.TryLock() {
		return // the average can do without it
	}
	p.beliefs.mix(r.InFlight, now)
	p.weighUp(now)
}

// beginSample begins to measure a lease, unless another one of m is measured.
func (p *Pool[T]) beginSample(m *member[T], start uint32) bool {
	if !p.beliefs.mu.TryLock() {
		return false // the next one will do
	}
	defer p.beliefs.mu.Unlock()
	return m.begin(m.slot, start, p.beliefs.unit, p.elapsed())
}

// endSample ends the measurement of a lease.
func (p *Pool[T]) endSample(m *member[T], start uint32, good bool) {
	now := p.elapsed()
	p.beliefs.mu.Lock()
	if m.sample.start == start && m.sample.queue > 0 {
		m.end(p.beliefs.unit, now, good)
	}
	p.weighUp(now)
}

// weighUp brings what is believed of all members up to date, if that is due, and unlocks
// beliefs.mu, which the caller holds.
func (p *Pool[T]) weighUp(now time.Duration) {
	b := &p.beliefs
	if int64(now) < b.next.Load() {
		b.mu.Unlock()
		return
	}
	held, members := false, 0
	for g := range p.snap.Load().groups {
		slow := b.compare(g.slots, g.ledgers, now, p.cfg.Slowness.Off)
		known := b.age(g.slots, g.ledgers, now, func(n int) int { return draw.Index(p.chance.Uint64(), n) })
		held = held || slow || known
		members += len(g.in)
	}
	b.next.Store(int64(later(now, max(b.unit, shortestGap, time.Duration(members)*20*time.Microsecond))))
	if b.vain++; held {
		b.vain = 0
	}
	held = held || b.held.Load() && b.vain < vainReviews
	changed := b.held.Swap(held) != held
	b.mu.Unlock()
	if changed {
		p.refresh()
	}
}
