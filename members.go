package evenkeel

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// Changing the pool.

// Member is a backend with its particulars, for ReplaceMembers.
type Member[T comparable] struct {
	Backend T

	// Weight is how much of the calls the backend gets, relative to the others of its
	// tier. 0 drains it: no new leases, open ones finish. NewPool and Replace give 1.
	Weight float64

	// Tier says when the backend is used: those of tier 0 first; those of a higher tier
	// stand by, and get calls as the tiers before theirs lose members or places.
	Tier int
}

// NewPool returns a pool of the given backends, each with weight 1 in tier 0. No backends
// at all is fine: Lease fails with ErrNoBackends until Replace brings some. The error
// matches ErrBadConfig, ErrDuplicate or ErrBadBackend.
func NewPool[T comparable](cfg Config, backends ...T) (*Pool[T], error) {
	ownClock := cfg.Now != nil
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool[T]{cfg: cfg, ownClock: ownClock, start: cfg.Now(), chance: draw.NewSource(cfg.Seed), index: map[T]*member[T]{}}
	p.backlog.init()
	if err := p.Replace(backends...); err != nil {
		return nil, err
	}
	return p, nil
}

// Replace makes the backends the pool's members, in this order. Those that were members
// already keep everything: counts, weight, tier, statistics, ejection. Those that are new
// get weight 1 in tier 0. Those that are left out get no new leases; the open ones stay
// valid. One that comes back while such a lease is open, or before its ejection would
// have ended (by hand or by health checks: within 5 minutes), is the same backend still;
// one that comes back later is new.
//
// An empty Replace is obeyed. If the error matches ErrDuplicate or ErrBadBackend nothing
// has changed.
func (p *Pool[T]) Replace(backends ...T) error {
	list := make([]Member[T], len(backends))
	for i, b := range backends {
		list[i] = Member[T]{b, math.NaN(), 0} // keep what it has
	}
	return p.replace(list)
}

// ReplaceMembers is Replace with the weight and tier of each member.
func (p *Pool[T]) ReplaceMembers(members ...Member[T]) error {
	for _, b := range members {
		if err := checkWeight(b.Backend, b.Weight); err != nil {
			return err
		}
		if b.Tier < 0 {
			return fmt.Errorf("%w: tier %d for backend %v; the first tier is 0", ErrBadBackend, b.Tier, b.Backend)
		}
	}
	return p.replace(members)
}

func checkWeight[T comparable](b T, w float64) error {
	if !(w >= 0) || math.IsInf(w, 0) {
		return fmt.Errorf("%w: weight %v for backend %v; it must be 0 (drain) or a positive number", ErrBadBackend, w, b)
	}
	return nil
}

// keeps reports whether the list says nothing of the member but that it is one.
func (b *Member[T]) keeps() bool { return math.IsNaN(b.Weight) }

func (p *Pool[T]) replace(list []Member[T]) error {
	seen := make(map[T]struct{}, len(list))
	for _, b := range list {
		if !hashable(b.Backend) {
			return fmt.Errorf("%w: %v cannot be compared", ErrBadBackend, b.Backend)
		}
		if b.Backend != b.Backend {
			return fmt.Errorf("%w: %v does not equal itself", ErrBadBackend, b.Backend)
		}
		if _, twice := seen[b.Backend]; twice {
			return fmt.Errorf("%w: %v stands twice; nothing was changed", ErrDuplicate, b.Backend)
		}
		seen[b.Backend] = struct{}{}
	}
	return p.change(func(now time.Duration) error {
		if !p.isSame(list) {
			p.removeBut(seen, now)
			p.add(list, now)
			p.settleOr(now, true)
		}
		return nil
	})
}

// isSame reports whether the list is what the members are already.
func (p *Pool[T]) isSame(list []Member[T]) bool {
	return p.snap.Load() != nil && slices.EqualFunc(p.members, list, func(m *member[T], b Member[T]) bool {
		return m.backend == b.Backend && (b.keeps() || m.weight == b.Weight && m.tier.number == b.Tier)
	})
}

// removeBut removes the members that are not among those who stay.
func (p *Pool[T]) removeBut(stay map[T]struct{}, now time.Duration) {
	for _, m := range p.members {
		if _, stays := stay[m.backend]; stays {
			continue
		}
		m.removed, m.removedAt = true, now
		p.forgive(m)
		p.changed(m, now)
		p.gone = append(p.gone, m)
	}
	p.forgetOldest(len(stay))
}

// remembered is how many removed backends are remembered at least, if they are bound by
// an ejection only. Those with open leases are remembered in any case.
const remembered = 1024

// forgetOldest bounds what is remembered of backends that have left.
func (p *Pool[T]) forgetOldest(members int) {
	p.gone = slices.DeleteFunc(p.gone, func(m *member[T]) bool { return !m.removed || p.index[m.backend] != m })
	for over := len(p.gone) - max(remembered, 4*members); over > 0; over-- {
		if m := p.gone[0]; m.inFlight() == 0 {
			delete(p.index, m.backend)
		}
		p.gone = p.gone[1:]
	}
}

// add makes the list the members.
func (p *Pool[T]) add(list []Member[T], now time.Duration) {
	stayed := make(map[*tier]bool) // tiers of which a member has stayed
	for _, m := range p.members {
		if !m.removed {
			stayed[m.tier] = true
		}
	}
	old := len(p.members)
	p.members = make([]*member[T], 0, len(list))
	slots := newSlots(len(list) - old)
	var fresh []*member[T]
	for _, b := range list {
		m, known := p.index[b.Backend]
		if known && m.removed && !m.isBound(now) { // back too late to be itself: a new one
			known = false
		}
		if !known {
			m = p.newMember(b.Backend, slots, now)
			fresh = append(fresh, m)
		}
		m.removed = false
		number := m.tier.number
		if !b.keeps() {
			m.weight, number = b.Weight, b.Tier
		}
		p.moveTo(m, p.tierOf(number)) // also if it has left its tier, and the tier is no more
		p.members = append(p.members, m)
	}
	if old == 0 {
		p.founders, p.foundedAt = slices.Clone(p.members), now
	} else if fresh = slices.DeleteFunc(fresh, func(m *member[T]) bool { return !stayed[m.tier] }); len(fresh) > 0 {
		p.rampFounders(now)
		p.startSlowly(now, fresh...)
		for _, m := range fresh {
			m.unchecked = p.checkers > 0
		}
	}
	p.membership++
	for _, m := range p.members {
		p.changed(m, now)
	}
	p.tiers = slices.DeleteFunc(p.tiers, func(t *tier) bool {
		return !slices.ContainsFunc(p.members, func(m *member[T]) bool { return m.tier == t })
	})
}

// moveTo makes t the member's tier.
func (p *Pool[T]) moveTo(m *member[T], t *tier) {
	m.tier.count[m.counted]--
	m.tier = t
	m.tier.count[m.counted]++
}

// change runs f under the lock, and then, outside the lock, serves those who wait and
// delivers the events. f settles what it has changed; if it returns an error it must have
// changed nothing.
func (p *Pool[T]) change(f func(now time.Duration) error) error {
	if p.index == nil {
		return errZeroPool
	}
	err := p.locked(f)
	p.serveAll()
	p.deliver()
	return err
}

func (p *Pool[T]) locked(f func(now time.Duration) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f(p.elapsed())
}

// changeOne is change for one backend. f reports whether it has changed something.
func (p *Pool[T]) changeOne(b T, orGone bool, f func(m *member[T], now time.Duration) bool) error {
	return p.change(func(now time.Duration) error {
		m, err := p.find(b, orGone)
		if err == nil && f(m, now) {
			p.changed(m, now)
			p.settle(now)
		}
		return err
	})
}

// find returns a backend's member; removed ones count only if orGone.
func (p *Pool[T]) find(b T, orGone bool) (*member[T], error) {
	if hashable(b) {
		if m, ok := p.index[b]; ok && (orGone || !m.removed) {
			return m, nil
		}
	}
	return nil, unknown(b)
}

// hashable reports whether b may be the key of a map: what an interface holds, in T or
// within it, need not be.
func hashable[T comparable](b T) bool { return reflect.ValueOf(&b).Elem().Comparable() }

// SetWeight changes the weight of one member, without slow start: 0 drains it (no new
// leases, the open ones finish). The error matches ErrBadBackend or ErrUnknownBackend.
func (p *Pool[T]) SetWeight(b T, weight float64) error {
	if err := checkWeight(b, weight); err != nil {
		return err
	}
	return p.changeOne(b, false, func(m *member[T], _ time.Duration) bool {
		was := m.weight
		m.weight = weight
		return was != weight
	})
}

// SetLoad makes a signal of the caller's own the load that policies compare, in place of
// the number of calls in flight, from the next pick on; nil restores that. make is called
// once for each member, at once or when it joins, under the pool's lock; the function that
// it returns gives the member's load and is called for every look at it, from many
// goroutines at once, so it must be fast. A nil function stands for the number of calls
// in flight.
//
// The value is in whatever unit the caller likes, 0 for idle; the penalty for failed
// calls is added and the weight divides it as always. A value above 1e18 is cut to it;
// one that is negative or NaN counts as 1e18, so that a broken signal draws no traffic,
// and Stats.BadSignals counts it. Neither function may call methods of the pool.
func (p *Pool[T]) SetLoad(make func(backend T) func(inFlight int) float64) {
	_ = p.change(func(now time.Duration) error {
		p.signal = make
		for _, m := range p.index {
			m.signal = nil
			if make != nil {
				m.signal = make(m.backend)
			}
		}
		p.settleOr(now, true)
		return nil
	})
}

// Eject takes a backend out by hand until Restore brings it back, whatever outcomes and
// health checks say. Open leases stay valid. If all members are ejected by hand, Lease
// fails with ErrNoBackends. Ejecting twice is harmless. One that is removed while it is
// ejected is remembered for 5 minutes, so that its return heals nothing. The error matches
// ErrUnknownBackend.
func (p *Pool[T]) Eject(b T) error {
	return p.changeOne(b, true, func(m *member[T], now time.Duration) bool {
		if m.byHand {
			return false
		}
		m.byHand = true
		m.newEra(now)
		p.forgive(m)
		return true
	})
}

// Restore brings a backend back at once, whether it was ejected by hand, by outcomes or
// by health checks (until the next check says otherwise), or has asked for a pause, with
// its record wiped clean. If it was out it starts slowly, like any that is back. Restoring
// one that is in is harmless. The error matches ErrUnknownBackend.
func (p *Pool[T]) Restore(b T) error {
	return p.changeOne(b, true, func(m *member[T], now time.Duration) bool {
		if m.state() == StateActive {
			return false
		}
		m.byHand, m.down, m.unchecked, m.downErr, m.pausedTo = false, false, false, nil, 0
		m.wipe()
		m.trust()
		m.newEra(now)
		if m.ramp.end(); !m.used {
			p.startSlowly(now, m)
		}
		return true
	})
}

// SetHealth records what a health check found: nil is up, anything else the reason why
// the backend is down. A backend that is down is out until a check finds it up, unless the
// checks have taken more than Config.PanicShare of the pool. SetHealth does not undo an
// ejection by hand or by outcome. It is for checks that run beside the calls, such as
// package health. The error matches ErrUnknownBackend.
func (p *Pool[T]) SetHealth(b T, down error) error {
	return p.changeOne(b, true, func(m *member[T], now time.Duration) bool {
		was := m.down || m.unchecked
		m.down, m.downErr = down != nil, down
		if m.unchecked {
			m.unchecked = false
			p.startSlowly(now, m)
			return true
		}
		switch {
		case m.down == was:
			return false
		case m.down:
			m.newEra(now)
			p.forgive(m)
		case !m.servedDown(now): // else it took calls all the while
			m.newEra(now)
			p.startSlowly(now, m)
		}
		return true
	})
}

// AwaitChecks says that health checks run: from now on a backend that joins a pool in use
// gets no calls before SetHealth has found it up, until stop is called. A pool whose
// members are all new does not wait. Several checkers may say so. stop may be called more
// than once.
func (p *Pool[T]) AwaitChecks() (stop func()) {
	_ = p.change(func(time.Duration) error {
		p.checkers++
		return nil
	})
	return sync.OnceFunc(func() {
		_ = p.change(func(now time.Duration) error {
			if p.checkers--; p.checkers > 0 {
				return nil
			}
			for _, m := range p.index {
				if m.unchecked {
					m.unchecked = false
					p.changed(m, now)
				}
			}
			p.settle(now)
			return nil
		})
	})
}
