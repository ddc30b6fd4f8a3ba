package evenkeel

import (
	"math"
	"time"
)

// maxReported is the largest number of requests that a report may say a server holds.
const maxReported = 1e9

// take keeps a report, if it is in range.
func (l *ledger) take(r Report, now time.Duration) {
	if !(r.InFlight >= 0 && r.InFlight <= maxReported) { // NaN too
		l.badReports.Add(1)
		return
	}
	l.reported.Store(math.Float64bits(r.InFlight))
	l.reportedAt.Store(int64(now))
	l.reports.Add(1)
}

// report returns the last report and when it came, false if none did.
func (l *ledger) report() (r Report, at time.Duration, ok bool) {
	if l.reports.Load() == 0 {
		return r, 0, false
	}
	return Report{InFlight: math.Float64frombits(l.reported.Load())}, time.Duration(l.reportedAt.Load()), true
}
