package evenkeel

import (
	"fmt"
	"math"
	"time"
)

// windowBuckets is the number of buckets that Ejection.Window is divided into.
const windowBuckets = 10

// A window counts how calls ended over the last Ejection.Window. Successes are
// not timed one by one, which would put a look at the clock into every call: they
// are read off the slot's counter when a failure makes the question arise, and
// spread evenly over the time since the counter was last read.
type window struct {
	buckets [windowBuckets]bucket
	rolled  time.Duration // successes are accounted for up to here
	counter uint32        // the slot's counter of successes then
}

type bucket struct {
	at   int64 // number of the stretch of time it stands for
	good float64
	bad  float64
}

// reset forgets what was counted up to now.
func (w *window) reset(counter uint32, now time.Duration) {
	*w = window{counter: counter, rolled: now}
}

func (w *window) bucket(at int64) *bucket {
	b := &w.buckets[at%windowBuckets]
	if b.at != at {
		*b = bucket{at: at}
	}
	return b
}

// roll accounts for the successes up to now.
func (w *window) roll(now, length time.Duration, counter uint32) {
	width := int64(length) / windowBuckets
	fresh := float64(counter - w.counter)
	w.counter = counter
	from, to := w.rolled, now
	w.rolled = now
	if from >= to {
		w.bucket(int64(to) / width).good += fresh
		return
	}
	span := float64(to - from)
	for at := max(int64(from)/width, int64(to)/width-windowBuckets+1); at <= int64(to)/width; at++ {
		lo, hi := max(at*width, int64(from)), min((at+1)*width, int64(to))
		w.bucket(at).good += fresh * float64(hi-lo) / span
	}
}

func (w *window) fail(now, length time.Duration) {
	w.bucket(int64(now)/(int64(length)/windowBuckets)).bad++
}

// sum returns the successes and failures within the window before now.
func (w *window) sum(now, length time.Duration) (good, bad float64) {
	oldest := int64(now)/(int64(length)/windowBuckets) - windowBuckets + 1
	for i := range w.buckets {
		if b := &w.buckets[i]; b.at >= oldest {
			good += b.good
			bad += b.bad
		}
	}
	return math.Round(good), bad
}

// outlierAlpha is the probability, under the hypothesis of equal failure rates,
// below which a difference is taken for real. It is tested at every failure, so
// it is small.
const outlierAlpha = 1e-7

// outlier returns why a member fails more often than the others do, or nil. The
// member is left out of what it is compared with, so the test works from two
// members up. Both tests are exact: Fisher's, one-sided, against the others
// (whose own rate is not known either), and the binomial against
// Ejection.Tolerance. Members without calls in the window have no say. The
// caller holds p.mu.
func (p *Pool[T]) outlier(m *member[T], now time.Duration) error {
	cfg := &p.cfg.Ejection
	m.window.roll(now, cfg.Window, uint32(m.good.Load()>>32))
	good, bad := m.window.sum(now, cfg.Window)
	if bad < float64(cfg.MinFailures) || lnBinomialTail(bad, good+bad, cfg.Tolerance) > lnAlpha {
		return nil
	}
	othersGood, othersBad := p.others(m, now)
	if lnFisherTail(bad, good+bad, othersBad, othersGood+othersBad) > lnAlpha {
		return nil
	}
	return fmt.Errorf("%.0f of %.0f calls failed within %v, against %.0f of %.0f on the others, the last: %w",
		bad, good+bad, cfg.Window, othersBad, othersGood+othersBad, m.lastErr)
}

// overall is how calls ended on all members together, kept for a moment: in a
// large pool that fails as a whole every failure asks for it.
type overall struct {
	at        time.Duration
	good, bad float64
	valid     bool
}

// manyMembers is from where on the overall counts are kept for a hundredth of the
// window instead of being added up at every failure.
const manyMembers = 100

// others returns how calls ended within the window on all members but m.
func (p *Pool[T]) others(m *member[T], now time.Duration) (good, bad float64) {
	cfg := &p.cfg.Ejection
	if o := &p.overall; !o.valid || len(p.members) < manyMembers || now-o.at > cfg.Window/100 {
		*o = overall{at: now, valid: true}
		for _, each := range p.members {
			each.said = [2]float64{}
			if !each.used || each.phase != phaseIn {
				continue
			}
			each.window.roll(now, cfg.Window, uint32(each.good.Load()>>32))
			g, b := each.window.sum(now, cfg.Window)
			each.said = [2]float64{g, b}
			o.good += g
			o.bad += b
		}
	}
	return p.overall.good - m.said[0], p.overall.bad - m.said[1]
}

var lnAlpha = math.Log(outlierAlpha)

func lnChoose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}

// lnBinomialTail is the logarithm of the probability of k or more out of n, each
// with probability p.
func lnBinomialTail(k, n, p float64) float64 {
	if k <= 0 || p >= 1 {
		return 0
	}
	if p <= 0 {
		return math.Inf(-1)
	}
	first := lnChoose(n, k) + k*math.Log(p) + (n-k)*math.Log1p(-p)
	if k <= n*p {
		return math.Log(0.5) // not in the upper tail: of no interest
	}
	sum, term := 1.0, 1.0
	for i := k; i < n && term > sum*1e-12; i++ {
		term *= (n - i) / (i + 1) * p / (1 - p)
		sum += term
	}
	return first + math.Log(sum)
}

// lnFisherTail is the logarithm of the probability that k or more of the k+f
// failures fall on n of the n+c calls, if they fall on all alike (Fisher's exact
// test: the tail of the hypergeometric distribution).
func lnFisherTail(k, n, f, c float64) float64 {
	if c == 0 || n == 0 || k*c <= f*n {
		return 0 // nothing to compare with, or no worse than they
	}
	all, fails := n+c, k+f
	first := lnChoose(fails, k) + lnChoose(all-fails, n-k) - lnChoose(all, n)
	sum, term := 1.0, 1.0
	for i := k; i < math.Min(n, fails) && term > sum*1e-12; i++ {
		term *= (fails - i) * (n - i) / ((i + 1) * (all - fails - n + i + 1))
		sum += term
	}
	return first + math.Log(sum)
}
