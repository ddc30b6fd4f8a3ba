package evenkeel

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// How slow a backend is, in relation to the others of its tier. A call now and then is
// timed: its latency divided by what the backend was supposed to hold when the call began,
// this call included, is a sample of the backend's service time. Samples are averaged in
// the logarithm, so that one huge job does not mark a server slow, and compared with the
// median of the others. The relation counts for less where it rests on few samples, or on
// old ones, and is rounded down to a power of two, so that noise does not reorder equal
// servers. A backend is never taken to be faster than the median.
//
// What a server says of its own service time goes before the samples.

const (
	sampleNumber = 16   // how many samples the average is made of
	samplePrior  = 5    // how many samples say "as fast as the median" beforehand
	sampleHalf   = 250  // service times in which samples lose half of their weight
	reportedHalf = 4000 // the same for a reported service time
	sampleLow    = 1. / 8
	sampleHigh   = 64 // a sample is cut to this range, in service times
	sampleHung   = 50 // a call that takes so many service times counts as it is, unanswered
	maxSlowness  = 10 // the slowest is taken to be 2^10 times slower

	// shortestTime is the least that a sample can be: below it the scheduler says more of
	// a latency than the backend does.
	shortestTime = 100 * time.Microsecond

	// A sample is taken each shortestGap at most, but at least at one call of widestGap.
	shortestGap = time.Millisecond
	widestGap   = 128

	// vainReviews is after how many reviews that found nothing to believe picks go by the
	// count again.
	vainReviews = 64
)

// isDue reports whether a call with this start number may be timed.
func (s *slot) isDue(start uint32) bool { return int32(start-s.sampleAt.Load()) >= 0 }

// begin notes that a call is timed, unless one is, and from which call on the next one may
// be. It reports whether the call is.
func (l *ledger) begin(s *slot, start uint32, unit, now time.Duration) bool {
	p := &l.sample
	gap := 1.0
	if p.start != 0 {
		calls := float64(start - p.start)
		gap = calls * float64(max(shortestGap, unit/8)) / float64(max(now-p.began, 1))
		gap = min(max(gap, 1), 2*calls, widestGap)
	}
	s.sampleAt.Store(start + uint32(gap))
	if p.queue > 0 {
		return false
	}
	w := s.word.Load()
	queue := float64(booked(w))
	if held := s.held.Load(); held != 0 {
		queue = holds(held, w, booked(w))
	}
	p.start, p.began, p.queue = start, now, float32(max(queue, 1))
	return true
}

// end takes the latency of the timed call for a sample. One that was no good answer's
// counts only if it makes the backend look slower.
func (l *ledger) end(unit, now time.Duration, good bool) {
	p := &l.sample
	took := max(now-p.began, 1)
	sample := math.Log(max(took.Seconds()/float64(p.queue), shortestTime.Seconds()))
	p.queue = 0
	if good {
		p.goodAt = max(now, 1)
	}
	if unit > 0 {
		typical := math.Log(unit.Seconds())
		sample = min(max(sample, typical+math.Log(sampleLow)), typical+math.Log(sampleHigh))
		if !good && p.weight == 0 && sample <= typical {
			return
		}
	}
	if !good && (unit == 0 || p.weight > 0 && sample <= p.log) {
		return
	}
	p.weight = min(p.weight*halved(now-p.at, sampleHalf*unit)+1, sampleNumber)
	p.log += (sample - p.log) / p.weight
	p.at = max(now, 1)
}

// hangs reports whether the timed call takes so long that it counts before it is over.
func (l *ledger) hangs(unit, now time.Duration) bool {
	return l.sample.queue > 0 && unit > 0 && float64(now-l.sample.began) > sampleHung*float64(unit)*float64(l.sample.queue)
}

// halved is what is left of 1 after a time.
func halved(after, half time.Duration) float64 {
	if half == 0 {
		return 1
	}
	return math.Exp2(-float64(after) / float64(half))
}

// A measure is what is known of a member's service time at a moment: by samples, or by
// what the server reports.
type measure func(l *ledger, unit, now time.Duration) logTime

func (l *ledger) measured(unit, now time.Duration) logTime {
	w := l.sample.weight * halved(now-l.sample.at, sampleHalf*unit)
	return logTime{l.sample.log, w / (w + samplePrior)}
}

func (l *ledger) said(unit, now time.Duration) logTime {
	t := l.reportTime.Load()
	if t == 0 {
		return logTime{}
	}
	return logTime{math.Log(time.Duration(t).Seconds()), halved(now-time.Duration(l.reportedAt.Load()), reportedHalf*unit)}
}

// compare sets the slowness of each member and b.unit. It reports whether any is slow.
// The caller holds b.mu.
func (b *beliefs) compare(slots []*slot, ledgers []*ledger, now time.Duration, off bool) (slow bool) {
	for _, l := range ledgers {
		if l.hangs(b.unit, now) {
			l.end(b.unit, now, false)
		}
	}
	measured, ok := b.median(ledgers, now, (*ledger).measured)
	if ok {
		b.unit = max(time.Duration(math.Exp(measured)*float64(time.Second)), 1)
	}
	if off {
		return false
	}
	said, _ := b.median(ledgers, now, (*ledger).said)
	for i, l := range ledgers {
		time, median := l.said(b.unit, now), said
		if time.counts == 0 {
			time, median = l.measured(b.unit, now), measured
		}
		class := uint32(min(max((time.log-median)*time.counts/math.Ln2, 0), maxSlowness))
		slots[i].slowness.Store(class)
		slow = slow || class > 0
	}
	return slow
}

// median is the median of what is known of the members by one of the two measures, each
// for what it counts; the lower one of two.
func (b *beliefs) median(ledgers []*ledger, now time.Duration, by measure) (log float64, ok bool) {
	b.times = b.times[:0]
	var all, below float64
	for _, l := range ledgers {
		if t := by(l, b.unit, now); t.counts > 0 {
			b.times = append(b.times, t)
			all += t.counts
		}
	}
	slices.SortFunc(b.times, func(a, b logTime) int { return cmp.Compare(a.log, b.log) })
	for _, t := range b.times {
		if below += t.counts; 2*below >= all {
			return t.log, true
		}
	}
	return 0, false
}
