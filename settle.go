package evenkeel

import (
	"time"
)

// settle brings what picks read up to date after changes of members. The caller holds
// p.mu.
func (p *Pool[T]) settle(now time.Duration) { p.settleOr(now, false) }

func (p *Pool[T]) settleOr(now time.Duration, publish bool) {
	s, mode := p.snap.Load(), p.modeNow()
	switch {
	case s == nil, publish, mode != p.mode, mode.over > 0, p.pending > len(p.members)/atOnce:
		p.publish(now, mode)
	case p.pending > 0:
		s.renew.CompareAndSwap(0, int64(len(p.members)))
	}
	s = p.snap.Load()
	p.due.Store(int64(p.alarms.next()))
	s.calm.Store(len(s.in) > 0 && len(s.spill) == 0 && s.renew.Load() == 0 && p.due.Load() == 0 &&
		p.offered.Load() == 0 && p.cfg.MaxInFlight == 0 && p.hooks.Load() == nil)
}

// upToDate brings the pool up to the clock, and the snapshot up to the pool, if that is
// due, and returns the snapshot to use. It does not wait for the lock: whoever finds it
// free does what is due, a pick later.
func (p *Pool[T]) upToDate(s *snapshot[T]) *snapshot[T] {
	old := s.renew.Load() > 0 && s.renew.Add(-1) <= 0
	due := p.due.Load()
	if !old && due == 0 {
		return s
	}
	now := p.elapsed()
	if !old && int64(now) < due {
		return s
	}
	if !p.mu.TryLock() {
		if old {
			s.renew.Store(1)
		}
		return s
	}
	defer p.mu.Unlock()
	p.catchUp(now, old)
	return p.snap.Load()
}

// catchUp makes all changes that are due by time. The caller holds p.mu.
func (p *Pool[T]) catchUp(now time.Duration, publish bool) {
	for at := p.alarms.next(); at != 0 && at <= uint64(now); at = p.alarms.next() {
		if due := p.alarms.pop(); due.at == uint64(due.m.alarm) {
			due.m.alarm = 0
			p.wake(due.m, now)
		}
	}
	p.settleOr(now, publish)
}

// wake makes the changes of a member that are due by time.
func (p *Pool[T]) wake(m *member[T], now time.Duration) {
	switch at := m.nextAlarm(now); {
	case m.removed:
		p.forgetUnbound(m, now)
	case m.phase == phaseTried && at != 0 && now >= at:
		p.letIn(m, now) // no failure for so long: a long call that goes well
		p.changed(m, now)
	case m.phase == phaseOut && now >= at:
		m.phase = phaseOffered
		m.newEra(now)
		p.changed(m, now)
	case m.pausedTo > 0 && now >= m.pausedTo:
		m.pausedTo = 0
		p.changed(m, now)
	case m.ramp.climb(&p.cfg.SlowStart, now, m.evidence()):
		p.changed(m, now)
	}
	m.alarm = 0
	p.setAlarm(m, now)
}

// refresh publishes at once.
func (p *Pool[T]) refresh() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.catchUp(p.elapsed(), true)
}

// look brings everything up to date, for somebody who wants to see the pool as it is.
// The caller holds p.mu.
func (p *Pool[T]) look(now time.Duration) {
	for _, m := range p.members {
		if m.ramp.climbing() && m.sound() && m.ramp.climb(&p.cfg.SlowStart, now, m.evidence()) {
			p.changed(m, now)
		}
	}
	p.catchUp(now, p.pending > 0)
}
