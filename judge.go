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
	if m.doubted && outcome == OutcomeSuccess && start > m.era.Load() {
		m.trust()
		return true
	}
	if m.phase != phaseIn || start <= m.era.Load() || cfg.Off || outcome != OutcomeFailure && outcome != OutcomeDeadline {
		return false // begun before it was ejected or came back: of another time
	}
	m.window.Add(now)
	if cfg.Consecutive > 0 {
		p.failedAgain(m, start, outcome == OutcomeDeadline)
		if len(m.run) > 0 && p.isTelling(m, now) {
			return p.eject(m, now, 1, fmt.Errorf("%s in a row, the last: %w", missed(m.run), m.lastErr))
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

// failedAgain adds a failure to the run: the failures of calls begun after the newest call
// that has succeeded. The order is by when calls began, so a slow success from before wipes
// nothing, and an old failure that arrives after a newer success does not count.
func (p *Pool[T]) failedAgain(m *member[T], start uint64, deadline bool) {
	newest := m.newest.Load()
	m.run = slices.DeleteFunc(m.run, func(f miss) bool { return f.start <= newest })
	if start <= newest {
		return
	}
	if len(m.run) == 0 {
		m.beside, m.runGood = p.tally(m), m.goodSoFar()
	}
	if len(m.run) == maxRun {
		m.run = slices.Delete(m.run, 0, 1)
	}
	m.run = append(m.run, miss{start, deadline})
}

// missed describes a run.
func missed(run []miss) string {
	deadlines := 0
	for _, f := range run {
		if f.deadline {
			deadlines++
		}
	}
	switch deadlines {
	case 0:
		return fmt.Sprintf("%d failures", len(run))
	case len(run):
		return fmt.Sprintf("%d calls past their deadline", len(run))
	}
	return fmt.Sprintf("%d failures and %d calls past their deadline", len(run)-deadlines, deadlines)
}

// alphaRun is how improbable a run of failures must be. A run may end with every call, so
// it is smaller than alpha: with it, some thousandth of a false ejection is expected in ten
// million calls, at any failure rate that all share. A deadline that passes costs its
// caller more, so less evidence will do.
const (
	alphaRun         = 2e-10
	alphaDeadlineRun = 1e-6
)

// isTelling reports whether the member's run of failures is no chance, given how the others
// fare at the same time: a run of k has probability r^k where each call fails with
// probability r. r is that of the others over Ejection.Window, or, if they have fared worse
// since the run began, that. Calls from before the run that have ended well since it began
// are counted beside it: a server that refuses what is beyond its places goes on with what
// it holds. Where nobody else is called, any run of Ejection.Consecutive will do, and so it
// will where a whole tier fails and another one does not.
func (p *Pool[T]) isTelling(m *member[T], now time.Duration) bool {
	k := float64(len(m.run))
	if k <= p.cfg.Ejection.Tolerance*(k+float64(m.answered.Load())) {
		return false // next to nothing beside the calls that it is answering
	}
	if m.run[len(m.run)-1].deadline || m.run[0].deadline {
		return p.isHung(m, now)
	}
	if len(m.run) < p.cfg.Ejection.Consecutive {
		return false
	}
	rate, _ := p.rateBeside(m, now)
	if rate >= 0.5 && p.ownSince(m) == 0 && p.hasReserve(m, now) {
		return true // its tier fails as a whole, and another one can carry the calls
	}
	return rate == 0 || outlier.LnBinomialTail(k, k+p.ownSince(m), rate) < math.Log(alphaRun)
}

// isHung is isTelling for deadlines that passed. A caller in a hurry is no evidence by
// itself: the others must have answered as many calls, and their rate is taken for higher
// than it was seen.
func (p *Pool[T]) isHung(m *member[T], now time.Duration) bool {
	k := float64(len(m.run))
	rate, calls := p.rateBeside(m, now)
	if good, _ := p.since(m, m.beside); k < 2 || good < k {
		return false
	}
	return outlier.LnBinomialTail(k, k+p.ownSince(m), rate+1/calls) < math.Log(alphaDeadlineRun)
}

// ownSince is how many of the member's own calls have ended well since its run began.
func (p *Pool[T]) ownSince(m *member[T]) float64 {
	good := m.goodSoFar()
	return float64(good - min(m.runGood, good))
}

// rateBeside is the failure rate that the member's run is compared with, and the number of
// calls that it was seen in.
func (p *Pool[T]) rateBeside(m *member[T], now time.Duration) (rate, calls float64) {
	good, bad := p.since(m, m.beside)
	longGood, longBad := p.others(m, now)
	calls = max(longGood+longBad, good+bad)
	if longBad > 0 {
		rate = longBad / (longGood + longBad)
	}
	if bad > 0 && outlier.LnBinomialTail(bad, good+bad, rate) < math.Log(1e-3) {
		rate = max(rate, bad/(good+bad))
	}
	return rate, calls
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
