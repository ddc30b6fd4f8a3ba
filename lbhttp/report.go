package lbhttp

import (
	"math"
	"net/http"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/orca"
)

// The metrics of ReportLoad, by which a server says what a report needs.
const (
	metricInFlight    = "named_metrics.in_flight"
	metricServiceTime = "named_metrics.service_time" // in seconds
)

// Reports says what is made of the load reports that backends send in the response header
// endpoint-load-metrics (ORCA). The zero value is the recommended set-up: the reports of
// [ReportLoad] are read, and in their absence the first of these that a backend sends:
//
//   - named_metrics.num_requests_running and named_metrics.num_requests_waiting, or either
//     alone, of inference servers: their sum;
//   - application_utilization, then cpu_utilization: u/(1-u), the requests that a server
//     of one worker with that utilization holds on average, at most 99.
//
// A pool compares the reports of its backends with each other, so all of them should send
// the same kind. The header is believed of every backend of the pool, and of nobody else:
// a backend can hurt only itself by what it says of its own load. Servers that send a
// report only where they are asked, as vLLM does, need the request header
// endpoint-load-metrics-format: TEXT, which is the caller's to set.
type Reports struct {
	// Off leaves the header unread.
	Off bool

	// Metric is the full name of the one metric that is the load, in requests, such as
	// named_metrics.queue. "": as above.
	Metric string
}

// readReport hands what a backend says of its load in a response's header to its pool.
func (r *Reports) readReport(lease *evenkeel.Lease[string], h http.Header) {
	if r.Off {
		return
	}
	values := h[orca.Header]
	if len(values) == 0 {
		return
	}
	if report, ok := r.parse(values[0]); ok {
		lease.Report(report)
	}
}

// parse makes a report of a header. It reports false if no metric of it is the load.
func (r *Reports) parse(header string) (report evenkeel.Report, ok bool) {
	var queue, use float64
	var hasOwn, hasQueue, hasApp, hasCPU bool
	err := orca.Parse(header, func(name string, value float64) {
		switch {
		case name == metricServiceTime:
			report.ServiceTime = seconds(value)
		case r.Metric != "":
			if name == r.Metric {
				report.InFlight, hasOwn = value, true
			}
		case name == metricInFlight:
			report.InFlight, hasOwn = value, true
		case name == "named_metrics.num_requests_running" || name == "named_metrics.num_requests_waiting":
			queue, hasQueue = queue+value, true
		case name == "application_utilization":
			use, hasApp = value, true
		case name == "cpu_utilization" && !hasApp:
			use, hasCPU = value, true
		}
	})
	switch {
	case err != nil:
		report.InFlight = math.NaN() // refused and counted
	case hasOwn:
	case hasQueue:
		report.InFlight = queue
	case hasApp || hasCPU:
		report.InFlight = min(use, 0.99) / (1 - min(use, 0.99))
	default:
		return report, false
	}
	return report, true
}

// seconds is a duration that a report may say; -1, which is refused, for others.
func seconds(s float64) time.Duration {
	if !(s >= 0 && s < 1e6) {
		return -1
	}
	return time.Duration(s * float64(time.Second))
}
