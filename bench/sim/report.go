package sim

import (
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// serviceTimes is how many requests a server's report of its service time is made of.
const serviceTimes = 100

// firstTimes is how many it must be made of before the server reports it.
const firstTimes = 16

// reports reports whether server n sends reports.
func (r *run) reports(n int32) bool { return r.cfg.Reporting > 0 && int(n) >= r.firstReporting() }

func (r *run) firstReporting() int {
	return r.cfg.Servers - int(math.Round(r.cfg.Reporting*float64(r.cfg.Servers)))
}

// reportOf makes the report that server n sends with its answer to q.
func (r *run) reportOf(n int32, q *request) evenkeel.Report {
	s := &r.servers[n]
	if took := r.now - q.reached; took > 0 {
		s.served = min(s.served+1, serviceTimes)
		s.logTime += (portableLog(took/float64(q.held)) - s.logTime) / s.served
	}
	held := float64(s.jobs)
	if r.cfg.Lying != nil && int(n) == r.firstReporting() {
		held = r.cfg.Lying()
	}
	report := evenkeel.Report{InFlight: held}
	if s.served >= firstTimes {
		report.ServiceTime = time.Duration(portableExp(s.logTime) * r.unit)
	}
	return report
}
