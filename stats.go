package evenkeel

import (
	"iter"
)

// Looking at the pool.

// InFlight returns the number of calls in flight on a backend: leases that have not
// ended. It is 0 for a backend that the pool does not know; one that was removed is known
// while leases on it are open.
func (p *Pool[T]) InFlight(b T) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, err := p.find(b, true); err == nil {
		return m.inFlight()
	}
	return 0
}

// Len returns the number of members, ejected and drained ones included.
func (p *Pool[T]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.members)
}

// All yields every member with its statistics, in the order of the last Replace. The
// membership and states are those of one moment, the call of All's result; the loop may
// change the pool.
func (p *Pool[T]) All() iter.Seq2[T, Stats] {
	return func(yield func(T, Stats) bool) {
		p.yieldStats(yield, func() []*member[T] { return p.members })
	}
}

// Leaving yields the backends that were removed while leases on them were open and still
// are, in no particular order.
func (p *Pool[T]) Leaving() iter.Seq2[T, Stats] {
	return func(yield func(T, Stats) bool) {
		p.yieldStats(yield, func() []*member[T] {
			var leaving []*member[T]
			for _, m := range p.index {
				if m.removed && m.inFlight() > 0 {
					leaving = append(leaving, m)
				}
			}
			return leaving
		})
	}
}

func (p *Pool[T]) yieldStats(yield func(T, Stats) bool, members func() []*member[T]) {
	if p.snap.Load() == nil {
		return // the zero Pool
	}
	p.mu.Lock()
	p.look(p.elapsed())
	list := members()
	stats, backends, loads := make([]Stats, len(list)), make([]T, len(list)), make([]func() float64, len(list))
	for i, m := range list {
		stats[i], backends[i], loads[i] = p.statsOf(m), m.backend, m.loader()
	}
	p.mu.Unlock()
	p.serveAll()
	p.deliver()
	for i, b := range backends {
		stats[i].Load = loads[i]() // it may ask a signal of the user's: not under the lock
		if !yield(b, stats[i]) {
			return
		}
	}
}

// statsOf makes a member's Stats. The caller holds p.mu.
func (p *Pool[T]) statsOf(m *member[T]) Stats {
	s := Stats{
		State: m.state(), Used: m.used, InFlight: m.inFlight(), Penalty: int(m.penalty.Load()),
		Weight: m.weight, Tier: m.tier.number, Share: m.allowed,
		Calls: m.begun() - 1, Successes: m.successes(), Failures: m.failures, Ejections: m.times,
		Cause: m.why(), LastError: m.lastErr,
		BadSignals: m.badSignal.Load(), Reports: m.reports.Load(), BadReports: m.badReports.Load(),
		Slowness: float64(uint64(1) << m.slowness.Load()),
	}
	s.Until = p.untilOf(m)
	if r, at, ok := m.report(); ok {
		s.Report, s.ReportedAt = r, p.start.Add(at)
	}
	return s
}

// Stats returns what the pool knows of itself as a whole, at one moment.
func (p *Pool[T]) Stats() PoolStats {
	s := PoolStats{Name: p.cfg.Name, Backlog: p.Backlog()}
	if p.snap.Load() == nil {
		return s // the zero Pool
	}
	p.mu.Lock()
	defer p.deliver()
	defer p.mu.Unlock()
	p.look(p.elapsed())
	s.Members, s.Panic = len(p.members), p.mode.panics
	for _, m := range p.members {
		if m.used {
			s.Usable++
		}
		s.InFlight += m.inFlight()
	}
	return s
}

// Backlog returns the state of the backlog.
func (p *Pool[T]) Backlog() BacklogStats {
	b := &p.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	s := BacklogStats{Waiting: int(b.waiting.Load()), Served: b.served, Shed: b.shed, GaveUp: b.gaveUp}
	if w := b.oldest(); w != nil {
		s.OldestWait = p.elapsed() - w.since
	}
	return s
}
