package sim

import (
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// serviceTimes is how many requests a server's report of its service time is made of.
const serviceTimes = 50

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
	return r.stateOf(n)
}

// stateOf is what server n says of itself at this moment.
func (r *run) stateOf(n int32) evenkeel.Report {
	s := &r.servers[n]
	report := evenkeel.Report{InFlight: float64(s.jobs)}
	if r.cfg.Lying != nil && int(n) == r.firstReporting() {
		report.InFlight = r.cfg.Lying()
	}
	if s.served >= firstTimes {
		report.ServiceTime = time.Duration(portableExp(s.logTime) * r.unit)
	}
	return report
}

// ask asks random servers for a report on behalf of a dispatcher. The answers come at
// once, whatever the RTT.
func (r *run) ask(dispatcher int32) error {
	for left := r.cfg.Probes; left > 0; left-- {
		if left < 1 && r.asked.Unit() > left {
			return nil
		}
		if n := int32(r.asked.Intn(len(r.servers))); r.reports(n) {
			if err := r.pools[dispatcher].Report(int(n), r.stateOf(n)); err != nil {
				return err
			}
		}
	}
	return nil
}
