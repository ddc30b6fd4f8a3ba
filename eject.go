package evenkeel

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// maxConsecutive bounds Ejection.Consecutive, whose failures are remembered one
// by one.
const maxConsecutive = 1000

// A phase is where a member stands with ejection by outcome.
type phase uint8

const (
	phaseIn      phase = iota
	phaseOut           // until its time is up
	phaseOffered       // its time is up: the next lease is its trial
	phaseTried         // the trial is under way
)

// record is what outcomes have shown of a member. Guarded by Pool.mu.
type record struct {
	phase    phase
	until    time.Duration // phaseOut: when its time is up
	level    int           // the last ejection's length, in units of Base
	times    int           // ejections by outcome, ever
	backAt   time.Duration // when it was let in last
	trial    uint32        // phaseTried: the start number of the trial
	trialAt  time.Duration // phaseTried: when it began
	run      []uint32      // start numbers of the latest failures, at most Consecutive
	window   window
	said     [2]float64 // what it added to Pool.overall: successes, failures
	reason   error      // why it was ejected last
	lastErr  error      // the last failure
	failures int        // failures and deadlines, ever
	told     State      // the state that the last event told of
}

// isOut reports whether the member is ejected and its time not up.
func (r *record) isOut(now time.Duration) bool { return r.phase == phaseOut && now < r.until }

// wipe makes the record that of a newcomer, but for the counts of all time.
func (r *record) wipe() {
	r.phase, r.level, r.reason = phaseIn, 0, nil
}

// newEra makes the outcomes of all leases begun so far count no more.
func (m *member[T]) newEra() {
	m.floor.Store(starts(m.word.Load()))
	m.run = m.run[:0]
	m.window.reset(uint32(m.good.Load()>>32), m.pool.elapsed())
}

// wakeAt is when the member's phase changes by itself, 0 for never.
func (m *member[T]) wakeAt() time.Duration {
	switch m.phase {
	case phaseOut:
		return m.until
	case phaseTried:
		return later(m.trialAt, m.pool.cfg.Ejection.TrialTimeout)
	}
	return 0
}

// wake makes the changes of phase that are due.
func (m *member[T]) wake(now time.Duration) {
	if at := m.wakeAt(); at != 0 && now >= at {
		m.phase = phaseOffered
		m.newEra()
	}
}

// takeTrial begins the trial of a member whose time is up, if no other lease has.
// A caller that finds the lock taken goes on without: trials are for one.
func (p *Pool[T]) takeTrial(s *snapshot[T], tried []T) (*member[T], uint32, bool) {
	if !p.mu.TryLock() {
		return nil, 0, false
	}
	defer p.mu.Unlock()
	for _, m := range s.trials {
		if m.phase != phaseOffered || m.removed || m.byHand || m.down || m.weight == 0 || slices.Contains(tried, m.backend) {
			continue
		}
		if start, ok := m.countBelow(); ok {
			m.phase, m.trial, m.trialAt = phaseTried, start, p.elapsed()
			m.attend.Or(attendState)
			p.publish()
			return m, start, true
		}
	}
	return nil, 0, false
}

// ended is the end of a lease wherever more than counting down is to be done.
func (p *Pool[T]) ended(m *member[T], start uint32, outcome Outcome, err error) {
	switch outcome {
	case OutcomeSuccess, OutcomeDeadline, OutcomeNeutral, unsaid:
		m.uncount()
	default:
		outcome = OutcomeFailure // whether it stays on the books: see failed
	}
	if outcome == OutcomeSuccess && !p.cfg.Ejection.Off {
		m.succeeded(start)
	}
	if outcome != OutcomeNeutral && outcome != OutcomeFailure {
		p.payOff()
	}
	changed := false
	if outcome == OutcomeFailure || outcome == OutcomeDeadline || m.attend.Load()&attendState != 0 {
		changed = p.note(m, start, outcome, err)
	}
	if p.cfg.MaxInFlight > 0 {
		p.line.freed(p)
	}
	if changed {
		p.line.rush(p)
	}
	if p.news.pending.Load() {
		p.deliver()
	}
}

// note is the part of ended that needs the lock.
func (p *Pool[T]) note(m *member[T], start uint32, outcome Outcome, err error) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.elapsed()
	if outcome == OutcomeFailure || outcome == OutcomeDeadline {
		m.failures++
		m.lastErr = orElse(err, outcome)
	}
	if outcome == OutcomeFailure {
		if m.used && len(p.snap.Load().in) > 1 {
			p.hold(m, now)
		} else {
			m.uncount()
		}
	}
	if changed = p.judge(m, start, outcome, now); changed {
		p.publish()
	}
	return changed
}

func orElse(err error, outcome Outcome) error {
	if err == nil {
		return fmt.Errorf("a call ended as %v", outcome)
	}
	return err
}

// judge draws the consequences of an outcome, and reports whether the member's
// standing has changed. The caller holds p.mu.
func (p *Pool[T]) judge(m *member[T], start uint32, outcome Outcome, now time.Duration) bool {
	cfg := &p.cfg.Ejection
	if m.phase == phaseTried && start == m.trial {
		return p.verdict(m, outcome, now)
	}
	if m.phase != phaseIn || !newer(start, m.floor.Load()) {
		return false // begun before it was ejected or came back: of another time
	}
	switch outcome {
	case OutcomeSuccess, unsaid:
		if m.ramp.step >= rampSteps || !m.ramp.climb(&p.cfg.SlowStart, now) {
			return false
		}
		if m.ramp.step >= rampSteps {
			m.attend.And(^attendState)
		}
		return true
	case OutcomeNeutral:
		return false
	}
	if cfg.Off {
		return false
	}
	if outcome == OutcomeFailure && cfg.Consecutive > 0 {
		if n := m.failedAgain(start, cfg.Consecutive); n >= cfg.Consecutive {
			return p.eject(m, now, fmt.Errorf("%d failures in a row, the last: %w", n, m.lastErr))
		}
	}
	if cfg.Window > 0 {
		m.window.fail(now, cfg.Window)
		if why := p.outlier(m, now); why != nil {
			return p.eject(m, now, why)
		}
	}
	return false
}

// failedAgain adds a failure to the run and returns how many there are in a row:
// those begun after the newest call that succeeded. Order is by when calls began,
// so a slow success from before wipes nothing, and an old failure that arrives
// after a newer success does not count.
func (m *member[T]) failedAgain(start uint32, most int) int {
	newest := uint32(m.good.Load())
	m.run = slices.DeleteFunc(m.run, func(s uint32) bool { return !newer(s, newest) })
	if newer(start, newest) {
		if len(m.run) == most {
			m.run = slices.Delete(m.run, 0, 1)
		}
		m.run = append(m.run, start)
	}
	return len(m.run)
}

// verdict ends a trial.
func (p *Pool[T]) verdict(m *member[T], outcome Outcome, now time.Duration) bool {
	switch outcome {
	case OutcomeSuccess:
		m.phase, m.backAt = phaseIn, now
		m.attend.And(^attendState)
		m.newEra()
		p.startSlowly(m)
	case OutcomeFailure:
		p.takeOut(m, now, fmt.Errorf("it failed its trial: %w", m.lastErr))
	case OutcomeDeadline:
		// Not proven either way, but not worth a caller after another: out for
		// one Base more, without counting as a relapse.
		m.phase, m.until = phaseOut, later(now, p.cfg.Ejection.Base)
		m.newEra()
	default:
		m.phase = phaseOffered // it said nothing of the backend: given again
	}
	return true
}

// eject takes a member out by outcome, unless that would take more than
// MaxEjected of the pool, or the last one. The caller holds p.mu, so that the
// test and the ejection are one step.
func (p *Pool[T]) eject(m *member[T], now time.Duration, reason error) bool {
	usable, out, others := 0, 1, 0
	for _, o := range p.members {
		if o.byHand || o.weight == 0 {
			continue
		}
		usable++
		switch {
		case o == m:
		case o.phase != phaseIn:
			out++
		case !o.down:
			others++
		}
	}
	if m.removed || m.byHand || m.weight == 0 || out > p.mayEject(usable) || others == 0 {
		return false
	}
	p.takeOut(m, now, reason)
	return true
}

// mayEject is how many of so many usable members outcomes may eject.
func (p *Pool[T]) mayEject(usable int) int {
	return int(math.Floor(float64(usable)*p.cfg.Ejection.MaxEjected + 1e-9))
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
	length -= time.Duration(float64(length) * cfg.Jitter * draw.Unit(p.jitter.Uint64()))
	m.phase, m.until = phaseOut, later(now, length)
	m.times++
	m.reason = reason
	m.ramp.step = rampSteps
	m.attend.And(^attendState)
	m.newEra()
	p.forgive(m)
}
