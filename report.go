package evenkeel

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// What servers report of their own load. A report says how many requests the server
// holds; the estimate of what it holds later is the larger of the pool's own calls in
// flight there, and the report plus the calls that have begun there since.
//
// A report ages: it moves toward the average of the recent reports of all. A backend that
// answers and does not report is supposed to hold what a random one of those that report
// does: so it is taken about as often as they are, where by the count alone it would look
// idle among them. One that has not answered yet is supposed to hold that at times, and
// otherwise more than the average, so that it is tried, but not by all balancers at once.
// Ages are brought up to date by those who report, at most once a service time, so that a
// pick reads no clock.

const (
	// maxReported is the largest number of requests that a report may say a server holds.
	maxReported = 1e9

	// reportFade is the time constant with which a report moves toward the average, in
	// service times (see beliefs.unit).
	reportFade = 100

	// reportLife is how long after the last report of all the count alone is believed
	// again, in service times.
	reportLife = 20 * reportFade

	// unheard is in how many reviews a backend that has not answered yet is supposed once
	// to be like a random other one.
	unheard = 8

	// averaged is how many reports the average is made of.
	averaged = 50

	// outOfLine is how many times more than the average a report may weigh in it: a server
	// that lies moves what is supposed of the others no further.
	outOfLine = 4

	// farOut is how many times more than the average a report may say at the next review:
	// what it has said of a server that is then left alone has faded after a few times
	// reportFade, whatever it was.
	farOut = 64
)

// beliefs is what a pool has learned from reports and latencies, beside what stands in
// the members' slots and ledgers.
type beliefs struct {
	held atomic.Bool  // there is more to believe of some member than its count
	next atomic.Int64 // when the members are reviewed next

	mu         sync.Mutex // guards what follows, and every ledger's sample; no lock is taken under it
	average    float64    // of recent reports
	number     float64    // how many it is made of
	reportedAt time.Duration
	unit       time.Duration // service time of the median member; 0: not known yet
	vain       int           // reviews in a row that found nothing to believe
	times      []logTime     // scratch
}

// logTime is the logarithm of a service time in seconds, and what it counts for, from 0
// to 1.
type logTime struct{ log, counts float64 }

// take keeps a report, if it is in range.
func (l *ledger) take(r Report, now time.Duration) bool {
	if !(r.InFlight >= 0 && r.InFlight <= maxReported) || r.ServiceTime < 0 { // NaN too
		l.badReports.Add(1)
		return false
	}
	l.reported.Store(math.Float64bits(r.InFlight))
	l.reportedAt.Store(int64(now))
	if r.ServiceTime > 0 {
		l.reportTime.Store(int64(r.ServiceTime))
	}
	l.reports.Add(1)
	return true
}

// report returns the last report and when it came, false if none did.
func (l *ledger) report() (r Report, at time.Duration, ok bool) {
	if l.reports.Load() == 0 {
		return r, 0, false
	}
	r = Report{math.Float64frombits(l.reported.Load()), time.Duration(l.reportTime.Load())}
	return r, time.Duration(l.reportedAt.Load()), true
}

// reporting reports whether the member still sends reports: no answer has come without
// one for as long as a report counts for something.
func (l *ledger) reporting(unit time.Duration) bool {
	return l.reports.Load() > 0 && l.sample.goodAt <= later(time.Duration(l.reportedAt.Load()), reportFade*unit)
}

// packHeld makes a value of slot.held. It is never 0: start numbers begin at 1.
func packHeld(requests float64, start uint32) uint64 {
	return uint64(start)<<32 | uint64(math.Float32bits(float32(requests)))
}

func heldRequests(held uint64) float64 { return float64(math.Float32frombits(uint32(held))) }

// holds is how many requests a backend with this word is supposed to hold, if own calls
// of the pool are in flight there.
func holds(held, w uint64, own int) float64 {
	since := max(int32(starts(w)-starts(held)), 0)
	return max(float64(own), heldRequests(held)+float64(min(int(since), own)))
}

// suppose sets what the backend holds, beside all calls in flight there.
func (s *slot) suppose(requests float64) {
	w := s.word.Load()
	s.held.Store(packHeld(requests, starts(w)-uint32(booked(w))))
}

// mix adds a report to the average. The caller holds b.mu.
func (b *beliefs) mix(requests float64, now time.Duration) {
	if b.number < averaged {
		b.number++
	}
	if b.number > 1 {
		requests = min(requests, outOfLine*(b.average+1))
	}
	b.average += (requests - b.average) / b.number
	b.reportedAt = now
}

// age brings what is supposed of each member up to date. draw gives random numbers. It
// reports whether there is anything to suppose. The caller holds b.mu.
func (b *beliefs) age(slots []*slot, ledgers []*ledger, now time.Duration, draw func(n int) int) bool {
	if b.number == 0 {
		return false
	}
	if now > later(b.reportedAt, reportLife*b.unit) {
		b.number = 0
		for _, s := range slots {
			s.held.Store(0)
		}
		return false
	}
	var known, silent []int
	for i, l := range ledgers {
		switch {
		case l.reporting(b.unit):
			known = append(known, i)
			slots[i].fade(l, b, now)
		case l.sample.goodAt > 0:
			silent = append(silent, i)
		case draw(unheard) == 0:
			silent = append(silent, i)
		default:
			slots[i].suppose(2*b.average + 1)
		}
	}
	for _, i := range silent {
		requests := b.average
		if len(known) > 0 {
			requests = heldRequests(slots[known[draw(len(known))]].held.Load())
		}
		slots[i].suppose(requests)
	}
	return true
}

// fade moves what a report said toward the average, as far as its age says.
func (s *slot) fade(l *ledger, b *beliefs, now time.Duration) {
	old := s.held.Load()
	r, at, _ := l.report()
	said := min(r.InFlight, farOut*(b.average+1))
	left := math.Exp(-float64(now-at) / float64(max(reportFade*b.unit, 1)))
	s.held.CompareAndSwap(old, packHeld(b.average+(said-b.average)*left, starts(old)))
}
