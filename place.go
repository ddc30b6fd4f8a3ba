package evenkeel

import (
	"slices"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// takeTrial begins the trial of a member whose time is up, if no other lease has. A
// caller that finds the lock taken goes on without: trials are for one.
func (p *Pool[T]) takeTrial(avoid []T) (*member[T], uint32, bool) {
	if p.offered.Load() == 0 || !p.mu.TryLock() {
		return nil, 0, false
	}
	defer p.mu.Unlock()
	return p.beginTrial(avoid)
}

// beginTrial is takeTrial for a caller that holds p.mu.
func (p *Pool[T]) beginTrial(avoid []T) (*member[T], uint32, bool) {
	now := p.elapsed()
	for i := 0; i < len(p.trials); i++ {
		m := p.trials[i]
		if m.triable() && slices.Contains(avoid, m.backend) {
			continue
		}
		start, ok := uint32(0), false
		if m.triable() {
			if start, ok = m.countBelow(true); !ok {
				continue
			}
		}
		p.trials = slices.Delete(p.trials, i, i+1)
		p.offered.Store(int32(len(p.trials)))
		m.queued = false
		i--
		if ok {
			m.phase, m.trial, m.trialAt = phaseTried, m.full(start), now
			m.judgeEnds()
			p.changed(m, now)
			p.settle(now)
			return m, start, true
		}
	}
	p.settle(now)
	return nil, 0, false
}

// groupFor returns the part of the pool that a call goes to: of several tiers one is
// drawn, for the same key the same one.
func (p *Pool[T]) groupFor(s *snapshot[T], by *chooser, key string) *group[T] {
	if len(s.spill) == 0 {
		return &s.group
	}
	at := draw.Unit(draw.Hash(key))
	if key == "" {
		at = draw.Unit(by.source.Uint64())
	}
	for g := range s.groups {
		if at < g.upTo {
			return g
		}
	}
	return &s.group
}

// anyWithout returns what is left of the lowest tier that is not all of backends to
// avoid, nil if there is none.
func (s *snapshot[T]) anyWithout(avoid []T) *group[T] {
	for g := range s.groups {
		if part := g.without(avoid); len(part.in) > 0 {
			return part
		}
	}
	return nil
}

// without leaves the backends out of a group that a call avoids.
func (g *group[T]) without(avoid []T) *group[T] {
	if len(avoid) == 0 {
		return g
	}
	return g.only(func(m *member[T]) bool { return !slices.Contains(avoid, m.backend) })
}

// take lets the policy choose from a group, and counts there. It loses a race if the
// chosen backend has changed meanwhile.
func (g *group[T]) take(by *chooser, key string, whatever bool) (*member[T], uint32, bool) {
	i, seen := by.choose(&g.candidates, key)
	m := g.in[i]
	if whatever {
		seen = Load{} // races enough: count it as it is
	}
	start, ok := m.count(seen)
	return m, start, ok
}

// takeWithRoom lets the policy choose among the backends with room, in the lowest tier
// that has any, and counts there. No place counts as free that was not free at one
// moment, and none as taken: a scan during which a count changed is made again.
func (p *Pool[T]) takeWithRoom(s *snapshot[T], by *chooser, key string, avoid []T) (*member[T], uint32, bool) {
	for {
		g, before := s.withRoom(avoid)
		if g == nil {
			if _, after := s.withRoom(avoid); after == before {
				return nil, 0, false
			}
			continue
		}
		m := g.in[0]
		if len(g.in) > 1 { // else nothing is to be chosen, as a rule when a place has just been freed
			i, _ := by.choose(&g.candidates, key)
			m = g.in[i]
		}
		if start, ok := m.countBelow(false); ok {
			return m, start, true
		}
	}
}

// withRoom returns the part of the lowest tier that has room, nil if none has, and a
// number that differs whenever a count was another.
func (s *snapshot[T]) withRoom(avoid []T) (g *group[T], counts uint64) {
	for g := range s.groups {
		room, last := 0, 0
		for i, m := range g.in {
			counts += m.word.Load()
			if m.hasRoom(avoid) {
				room++
				last = i
			}
		}
		switch {
		case room == 0:
			continue
		case room == len(g.in):
			return g, counts
		case room == 1:
			return &group[T]{in: g.in[last : last+1]}, counts
		}
		if part := g.only(func(m *member[T]) bool { return m.hasRoom(avoid) }); len(part.in) > 0 {
			return part, counts
		}
		return s.withRoom(avoid)
	}
	return nil, counts
}
