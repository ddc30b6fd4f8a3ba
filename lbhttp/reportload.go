package lbhttp

import (
	"bufio"
	"math"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/orca"
)

const (
	// timesAveraged is how many requests the service time is an average of.
	timesAveraged = 50
	// timesFirst is how many there must be before it is reported.
	timesFirst = 16
)

// ReportLoad returns a handler that serves by h and reports its load with every answer, in
// the response header endpoint-load-metrics: how many requests it holds, the answered one
// not counted, and its service time. A client with a Transport of this package, in any
// number of processes, then knows of the load that the others cause.
//
// All requests must pass through one such handler for the counts to be those of the
// server. The header goes to whoever asks: a proxy that serves strangers should remove it.
// The ResponseWriter that h is given implements http.Flusher and http.Hijacker, which
// fail or do nothing where the server's does not support them; http.ResponseController
// reaches the rest. A header that h sets by itself under the same name is left alone.
func ReportLoad(h http.Handler) http.Handler { return &loadReporter{handler: h} }

type loadReporter struct {
	handler http.Handler
	held    atomic.Int64
	log     atomic.Uint64 // math.Float64bits of the average logarithm of the service time in seconds
	served  atomic.Uint64
}

// ServeHTTP implements http.Handler.
func (l *loadReporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	held, began := l.held.Add(1), time.Now()
	s := &stamped{ResponseWriter: w, by: l}
	defer func() {
		l.held.Add(-1)
		l.note(time.Since(began), held)
	}()
	l.handler.ServeHTTP(s, r)
	s.stamp() // before the server sends a header of its own
}

// note adds a request to the average: its latency by what was held when it came.
func (l *loadReporter) note(took time.Duration, held int64) {
	n := float64(min(l.served.Add(1), timesAveraged))
	sample := math.Log(max(took, 1).Seconds() / float64(held))
	old := l.log.Load()
	log := math.Float64frombits(old)
	l.log.CompareAndSwap(old, math.Float64bits(log+(sample-log)/n)) // one that is lost does not matter
}

// report makes the header's value.
func (l *loadReporter) report() string {
	var space [96]byte
	text := orca.AppendText(space[:0], metricInFlight, float64(l.held.Load()-1))
	if l.served.Load() >= timesFirst {
		text = orca.AppendText(text, metricServiceTime, math.Exp(math.Float64frombits(l.log.Load())))
	}
	return string(text)
}

// stamped is a ResponseWriter that adds the report to the header when that is sent.
type stamped struct {
	http.ResponseWriter
	by    *loadReporter
	done  bool
	value [1]string
}

func (s *stamped) stamp() {
	if s.done {
		return
	}
	s.done = true
	if h := s.Header(); h[orca.Header] == nil {
		s.value[0] = s.by.report()
		h[orca.Header] = s.value[:]
	}
}

// WriteHeader implements http.ResponseWriter.
func (s *stamped) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		s.stamp()
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *stamped) Write(p []byte) (int, error) {
	s.stamp()
	return s.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (s *stamped) Flush() {
	s.stamp()
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker.
func (s *stamped) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(s.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (s *stamped) Unwrap() http.ResponseWriter { return s.ResponseWriter }
