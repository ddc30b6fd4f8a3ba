package evenkeel

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/outlier"
)

// Every judgement compares a member with the others at the same time. What all of them
// suffer, such as a dependency that fails, an overload, or callers in a hurry, is nobody's
// fault.

// judge draws the consequences of an outcome, and reports whether the member's standing
// has changed. start is the lease's number. The caller holds p.mu.
func (p *Pool[T]) judge(m *member[T], start uint64, outcome Outcome, now time.Duration) bool {
	cfg := &p.cfg.Ejection
	if m.phase == phaseTried && start == m.trial {
		p.verdict(m, outcome, now)
		return true
	}
	if m.phase != phaseIn || start <= m.era.Load() || cfg.Off || outcome != OutcomeFailure && outcome != OutcomeDeadline {
		return false // begun before it was ejected or came back: of another time
	}
	m.window.Add(now)
	if cfg.Consecutive > 0 {
		if k := p.failedAgain(m, start, outcome == OutcomeDeadline, now); k >= cfg.Consecutive && p.isImprobable(m, k, now) {
			return p.eject(m, now, 1, fmt.Errorf("%d failures in a row, the last: %w", k, m.lastErr))
		}
	}
	if cfg.Window > 0 {
		if rate, why := p.outlier(m, now); why != nil {
			return p.eject(m, now, rate, why)
		}
	}
	return false
}

// maxRun is how many failures in a row are remembered: where so many are no evidence, the
// rate is.
const maxRun = 1024

// failedAgain adds a failure to the run and returns how many there are in a row: those
// begun after the newest call that has succeeded. The order is by when calls began, so a
// slow success from before wipes nothing, and an old failure that arrives after a newer
// success does not count.
func (p *Pool[T]) failedAgain(m *member[T], start uint64, deadline bool, now time.Duration) int {
	newest := m.newest.Load()
	m.run = slices.DeleteFunc(m.run, func(f miss) bool { return f.start <= newest })
	if start > newest {
		if len(m.run) == 0 {
			m.beside = p.tally(m)
		}
		if len(m.run) == maxRun {
			m.run = slices.Delete(m.run, 0, 1)
		}
		m.run = append(m.run, miss{start, deadline})
	}
	return len(m.run)
}

// alphaRun is how improbable a run of failures must be. A run may end with every call, so
// it is smaller than alpha: with it, some thousandth of a false ejection is expected in ten
// million calls, at any failure rate that all share.
const alphaRun = 2e-10

// isImprobable reports whether k failures in a row of one member are no chance, given how
// the others fare at the same time: a run of k has probability r^k where each call fails
// with probability r. r is that of the others over Ejection.Window, or, if they have
// fared worse since the run began, that. Where nobody else is called, any run will do,
// but not one of deadlines: a caller in a hurry is no evidence by itself.
func (p *Pool[T]) isImprobable(m *member[T], k int, now time.Duration) bool {
	if open := m.answered.Load(); float64(k) <= p.cfg.Ejection.Tolerance*float64(int64(k)+open) {
		return false // next to nothing beside the calls that it is answering
	}
	good, bad := p.since(m, m.beside)
	if slices.ContainsFunc(m.run, func(f miss) bool { return f.deadline }) && good < float64(k) {
		return false
	}
	longGood, longBad := p.others(m, now)
	if longBad == 0 && bad == 0 {
		return true
	}
	rate := 0.0
	if longBad > 0 {
		rate = longBad / (longGood + longBad)
	}
	if bad > 0 && outlier.LnBinomialTail(bad, good+bad, rate) < math.Log(1e-3) {
		rate = max(rate, bad/(good+bad))
	}
	return float64(k)*math.Log(rate) < math.Log(alphaRun)
}

// alpha is the probability, under the hypothesis of equal failure rates, below which a
// difference of rates is taken for real. It is tested at every failure, so it is small.
const alpha = 1e-7

// alphaTolerance is the probability below which a rate is taken to be above
// Ejection.Tolerance: 3 failed calls of 3 are, at the default of 2 %.
const alphaTolerance = 1e-5

// outlier returns the member's failure rate, and why that is more than the others' rate,
// or nil. The member is left out of what it is compared with, so the test works from two
// members up, and of the others only what ended since the member was new or back counts.
// Both tests are exact: Fisher's, one-sided, against the others (whose own rate is not
// known either), and the binomial against Ejection.Tolerance. Members without calls in
// the window have no say. The caller holds p.mu.
func (p *Pool[T]) outlier(m *member[T], now time.Duration) (rate float64, why error) {
	cfg := &p.cfg.Ejection
	m.roll(now)
	good, bad := m.window.Sum(now)
	good += float64(max(m.answered.Load(), 0))
	if bad < float64(cfg.MinFailures) || outlier.LnBinomialTail(bad, good+bad, cfg.Tolerance) > math.Log(alphaTolerance) {
		return 0, nil
	}
	othersGood, othersBad := p.others(m, now)
	if outlier.LnFisherTail(bad, good+bad, othersBad, othersGood+othersBad) > math.Log(alpha) {
		return 0, nil
	}
	return bad / (good + bad), fmt.Errorf("%.0f of %.0f calls failed within %v, against %.0f of %.0f on the others, the last: %w",
		bad, good+bad, cfg.Window, othersBad, othersGood+othersBad, m.lastErr)
}
