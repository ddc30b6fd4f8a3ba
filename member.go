package evenkeel

import (
	"math"
	"slices"
	"time"
)

// What one member knows of itself. Everything here needs Pool.mu, but for hasRoom.

// usable reports whether the pool may use the member at all: it is one, nobody has
// ejected it by hand, and it is not drained.
func (m *member[T]) usable() bool { return !m.removed && !m.byHand && m.weight > 0 }

// sound reports whether nothing is held against the member.
func (m *member[T]) sound() bool { return m.class() == classSound }

// triable reports whether the next lease may be the member's trial.
func (m *member[T]) triable() bool {
	return m.usable() && !m.unchecked && !m.down && m.phase == phaseOffered
}

// ejected reports whether an ejection by outcome lasts at that time.
func (m *member[T]) ejected(now time.Duration) bool { return m.phase == phaseOut && now < m.until }

// class is what the member is to its tier: by hand before drained before health before
// outcome.
func (m *member[T]) class() class {
	switch {
	case m.removed:
		return classGone
	case m.byHand:
		return classByHand
	case m.weight == 0:
		return classDrained
	case m.unchecked:
		return classUnchecked
	case m.down:
		return classDown
	case m.phase != phaseIn:
		return classOut
	case m.pausedTo > 0:
		return classPaused
	}
	return classSound
}

// state is the one of several that says most.
func (m *member[T]) state() State {
	switch m.class() {
	case classGone:
		return StateRemoved
	case classByHand:
		return StateEjectedByHand
	case classDrained:
		return StateDrained
	case classDown, classUnchecked:
		return StateEjectedByHealth
	case classPaused:
		return StatePaused
	case classOut:
		if m.phase == phaseOut {
			return StateEjectedByOutcome
		}
		return StateOnTrial
	}
	if m.ramp.climbing() {
		return StateSlowStart
	}
	return StateActive
}

// servedDown reports whether the member took calls until now, or nearly, although health
// checks had found it down: then it is no newcomer when they find it up.
func (m *member[T]) servedDown(now time.Duration) bool {
	return m.used || m.servedTo > 0 && now-m.servedTo < m.pool.cfg.SlowStart.Window
}

// why is the cause of an ejection, nil while the member is in.
func (m *member[T]) why() error {
	switch m.state() {
	case StateEjectedByHealth:
		if m.unchecked {
			return errUnchecked
		}
		return m.downErr
	case StatePaused:
		return m.lastErr
	case StateEjectedByOutcome, StateOnTrial:
		return m.reason
	}
	return nil
}

// share is the weight that picks go by: the one that was set, times the part of it that
// slow start allows.
func (m *member[T]) share() float64 { return m.weight * m.allowed }

// limitOf is the most calls in flight for a member of its weight.
func (m *member[T]) limitOf(most int) int32 {
	if most == 0 {
		return 0
	}
	return int32(math.Min(math.Max(math.Floor(float64(most)*m.weight), 1), math.MaxInt32))
}

// isFull reports whether the member is at its limit, which is not 0.
func (m *member[T]) isFull() bool { return m.inFlight() >= int(m.limit.Load()) }

// hasRoom reports whether a call that avoids some backends may begin here.
func (m *member[T]) hasRoom(avoid []T) bool {
	return !m.isFull() && !isBarred(m.word.Load()) && !slices.Contains(avoid, m.backend)
}

// newEra makes the outcomes of all leases begun so far count no more.
func (m *member[T]) newEra(now time.Duration) {
	if m.inFlight() > 0 {
		m.also.Or(alsoOld)
	}
	m.era.Store(m.begun())
	m.eraAt = now
	m.forgetRun()
	m.window.Reset(now, m.goodSoFar())
}

// goodSoFar counts the successes that belong to the present era, and those of all
// earlier ones that ended in time.
func (m *member[T]) goodSoFar() uint64 {
	all, late := m.successes(), m.late.Load()
	return all - min(all, late)
}

// roll brings the member's window up to the clock.
func (m *member[T]) roll(now time.Duration) {
	m.good = max(m.good, m.goodSoFar()) // a reading in the middle of an end may be one short
	m.window.Roll(now, m.good)
}

// isSimple reports whether the end of a lease is counting down and no more.
func (m *member[T]) isSimple() bool { return m.also.Load() == 0 && m.pool.atEnd.Load() == 0 }

// evidence counts the calls that show that a member works: those that have ended well, or
// without a word, and the open ones that have been answered.
func (m *member[T]) evidence() uint64 {
	return m.successes() + m.released.Load() + uint64(max(m.answered.Load(), 0))
}

// wipe makes the record that of a new member, but for the counts of all time.
func (r *record) wipe() {
	r.phase, r.level, r.reason = phaseIn, 0, nil
}

func (m *member[T]) forgetRun() {
	m.run = m.run[:0]
	m.also.And(^alsoOrder)
}

// nextAlarm is when the member must be looked at again: its phase changes by itself, its
// slow start may take a step, or what is remembered of it ends. 0: never.
func (m *member[T]) nextAlarm(now time.Duration) time.Duration {
	if m.removed {
		return m.rememberedUntil(now)
	}
	switch m.phase {
	case phaseOut:
		return m.until
	case phaseTried:
		return later(m.trialAt, m.pool.cfg.Ejection.TrialTimeout)
	case phaseIn:
		if m.pausedTo > 0 {
			return m.pausedTo
		}
		if m.ramp.climbing() && m.usable() {
			return m.ramp.nextLook(&m.pool.cfg.SlowStart, now)
		}
	}
	return 0
}

// memory is how long a removed backend is remembered as ejected by hand or found down by
// health checks: nobody may restore or check it any more, and addresses may never come
// back, or come back as other servers.
const memory = 5 * time.Minute

// isBound reports whether a removed backend that comes back now is the same one still:
// leases on it are open, or an ejection lasts.
func (m *member[T]) isBound(now time.Duration) bool {
	return m.inFlight() > 0 || m.ejected(now) || (m.byHand || m.down) && now-m.removedAt < memory
}

// rememberedUntil is when to ask whether a removed backend is still bound.
func (m *member[T]) rememberedUntil(now time.Duration) time.Duration {
	switch {
	case m.ejected(now):
		return m.until
	case m.inFlight() > 0:
		return later(now, memory)
	}
	return later(max(m.removedAt, now-1), memory)
}

// loader returns a function that works out what policies compare, for somebody who looks.
// The function needs no lock.
func (m *member[T]) loader() func() float64 {
	signal, share := m.signal, m.share()
	return func() float64 {
		w, penalty := m.word.Load(), int(m.penalty.Load())
		load := m.estimate(w)
		if signal != nil {
			load = clip(signal(max(booked(w)-penalty, 0))) + float64(penalty)
		}
		if share > 0 {
			load /= share
		}
		return min(load, maxLoad)
	}
}
