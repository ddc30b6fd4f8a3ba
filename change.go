package evenkeel

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// What follows from a change of one member. The caller of everything here holds
// Pool.mu.

// changed draws the consequences of a change of a member, all but those for the
// snapshot: its tier counts it anew, it is in rotation or barred from now on, its next
// alarm is set, and its new state is an event. It costs the same for any number of
// members. Pool.settle does the rest.
func (p *Pool[T]) changed(m *member[T], now time.Duration) {
	if class := m.class(); class != m.counted {
		m.tier.count[m.counted]--
		m.tier.count[class]++
		m.counted = class
		if class == classSound {
			m.trust()
		}
	}
	p.use(m, p.mode.uses(m.class()), p.mode.panics, now)
	if m.triable() && !m.queued {
		m.queued = true
		p.trials = append(p.trials, m)
		p.offered.Add(1)
	}
	m.limit.Store(m.limitOf(p.cfg.MaxInFlight))
	p.forgetUnbound(m, now)
	p.setAlarm(m, now)
	p.noteState(m, now)
	p.pending++
}

// use puts a member into rotation, or takes it out, at once for every pick. panicked says
// whether health checks were not believed until now.
func (p *Pool[T]) use(m *member[T], used, panicked bool, now time.Duration) {
	if used == m.used {
		return
	}
	if m.used && m.down && panicked && !m.doubted {
		m.servedTo = now
	}
	m.used = used
	m.bar(!used)
	if m.trust(); used && m.class() != classSound && m.class() != classPaused {
		m.doubt()
	}
}

// waryShare is the part of its weight that a member gets while it is in rotation in spite
// of what is held against it: health checks that are not believed, an ejection that the
// cap does not allow. The first call that ends well there gives it its full share.
const waryShare = 0.1

// doubt makes a member one that has to prove itself.
func (m *member[T]) doubt() {
	m.doubted = true
	m.judgeEnds()
}

// trust ends that.
func (m *member[T]) trust() {
	m.doubted = false
	m.judgeEnds()
}

// judgeEnds makes every end of a lease be judged, or no longer, as the member's standing
// demands.
func (m *member[T]) judgeEnds() {
	if m.phase == phaseTried || m.doubted {
		m.also.Or(alsoJudge)
	} else {
		m.also.And(^alsoJudge)
	}
}

// setAlarm makes the pool look at a member again when its next change by time is due.
func (p *Pool[T]) setAlarm(m *member[T], now time.Duration) {
	at := m.nextAlarm(now)
	if at == m.alarm {
		return
	}
	if m.alarm = at; at != 0 {
		p.alarms.push(uint64(at), m)
	}
}

// forgetUnbound forgets a removed backend that nothing binds any more.
func (p *Pool[T]) forgetUnbound(m *member[T], now time.Duration) {
	if m.removed && !m.isBound(now) && p.index[m.backend] == m {
		delete(p.index, m.backend)
	}
}

// tierOf returns the tier of a number.
func (p *Pool[T]) tierOf(number int) *tier {
	i, ok := slices.BinarySearchFunc(p.tiers, number, func(t *tier, n int) int { return cmp.Compare(t.number, n) })
	if !ok {
		p.tiers = slices.Insert(p.tiers, i, &tier{number: number})
	}
	return p.tiers[i]
}

// uses reports whether members of a class are in rotation.
func (m mode) uses(c class) bool {
	switch c {
	case classSound:
		return true
	case classPaused:
		return m.busy || m.all
	case classDown, classOut, classUnchecked:
		return m.all
	}
	return false
}

// usable is how many members of the tier count for its limits: those that the pool may use
// and that are no newcomers to health checks.
func (t *tier) usable() int {
	return t.count[classDown] + t.count[classOut] + t.count[classPaused] + t.count[classSound]
}

// soundMembers is how many members of all tiers nothing is held against.
func (p *Pool[T]) soundMembers() (n int) {
	for _, t := range p.tiers {
		n += t.count[classSound]
	}
	return n
}

// modeNow works out what the counts of the tiers say. Health checks are no longer
// believed when in every tier they have taken more than Config.PanicShare of the members
// that are usable; while one tier is better off, it carries the calls.
func (p *Pool[T]) modeNow() (m mode) {
	usable, down, paused, sound := 0, 0, 0, p.soundMembers()
	m.panics = true
	for _, t := range p.tiers {
		u, d := t.usable(), t.count[classDown]
		usable, down, paused = usable+u+t.count[classUnchecked], down+d, paused+t.count[classPaused]
		m.over += max(t.count[classOut]-p.mayEject(t, sound), 0)
		if u > 0 && d < u && float64(d) <= p.cfg.PanicShare*float64(u) {
			m.panics = false
		}
	}
	m.panics = m.panics && down > 0
	m.busy = sound == 0 && paused > 0
	m.all = m.panics || usable > 0 && sound+paused == 0 && m.over == 0
	return m
}

// mayEject is how many members of a tier outcomes may eject, when so many members of all
// tiers are sound: the share that Ejection.MaxEjected gives, or all of them while
// another tier can carry the calls.
func (p *Pool[T]) mayEject(t *tier, sound int) int {
	if sound > t.count[classSound] {
		return t.usable()
	}
	return int(math.Floor(float64(t.usable())*p.cfg.Ejection.MaxEjected + 1e-9))
}

// startSlowly puts members that are new or back on the ramp.
func (p *Pool[T]) startSlowly(now time.Duration, fresh ...*member[T]) {
	if p.cfg.SlowStart.Off {
		return
	}
	for _, m := range fresh {
		m.ramp.start(&p.cfg.SlowStart, now, m.evidence())
	}
}

// rampFounders puts those that have been there from the start on the ramp when another
// member joins soon after: each ramps by its own age, and a pool's first seconds know no
// newcomer.
func (p *Pool[T]) rampFounders(now time.Duration) {
	cfg := &p.cfg.SlowStart
	for _, m := range p.founders {
		step := int((now - p.foundedAt) / stepTime(cfg))
		if step < rampSteps && m.usable() && !m.ramp.climbing() && !cfg.Off {
			m.ramp.start(cfg, now, m.evidence())
			m.ramp.step = step
		}
	}
	p.founders = nil
}
