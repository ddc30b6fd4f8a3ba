package lbhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// says is a base whose backend sends this report.
type says string

func (s says) RoundTrip(req *http.Request) (*http.Response, error) {
	h := http.Header{"Endpoint-Load-Metrics": {string(s)}}
	return &http.Response{StatusCode: 200, Header: h, Body: http.NoBody, Request: req}, nil
}

// reported sends one request to a backend that sends header, and returns what the pool
// knows of it afterwards.
func reported(t *testing.T, cfg lbhttp.Reports, header string) evenkeel.Stats {
	t.Helper()
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a:1")
	require.NoError(t, err)
	transport, err := lbhttp.NewWith(p2c.New(pool), lbhttp.Config{Base: says(header), Reports: cfg})
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: transport}).Get("http://service/")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	for _, s := range pool.All() {
		return s
	}
	return evenkeel.Stats{}
}

func TestReportsAreRead(t *testing.T) {
	for header, want := range map[string]float64{
		"TEXT named_metrics.in_flight=7,cpu_utilization=0.5":                              7,
		`JSON {"cpu_utilization":0.5,"named_metrics":{"in_flight":7}}`:                    7,
		"TEXT named_metrics.num_requests_waiting=3,named_metrics.kv_cache_usage_perc=0.9": 3,
		"TEXT named_metrics.num_requests_running=2,named_metrics.num_requests_waiting:3":  5,
		"cpu_utilization:0.2,application_utilization:0.75":                                3,
		"application_utilization:0.75,cpu_utilization:0.2":                                3,
		"TEXT cpu_utilization=0.5":                                                        1,
		"TEXT cpu_utilization=7":                                                          99,
	} {
		s := reported(t, lbhttp.Reports{}, header)
		assert.InDelta(t, want, s.Report.InFlight, 1e-9, header)
		assert.Equal(t, uint64(1), s.Reports, header)
	}
	s := reported(t, lbhttp.Reports{Metric: "named_metrics.q"}, "TEXT named_metrics.in_flight=7,named_metrics.q=2")
	assert.Equal(t, 2., s.Report.InFlight)
	s = reported(t, lbhttp.Reports{}, "TEXT named_metrics.in_flight=1,named_metrics.service_time=0.25")
	assert.Equal(t, 250*time.Millisecond, s.Report.ServiceTime)
}

// What is no report, or a bad one, changes nothing; a bad one is counted.
func TestBadReportsAreRefused(t *testing.T) {
	for header, bad := range map[string]uint64{
		"TEXT mem_utilization=0.5": 0, "": 0, "nonsense": 1, "TEXT named_metrics.in_flight=-1": 1, "TEXT named_metrics.in_flight=1e300": 1,
		"TEXT named_metrics.in_flight=NaN": 1, "TEXT cpu_utilization=-0.5": 1, "TEXT named_metrics.in_flight=1,named_metrics.service_time=-2": 1,
		"TEXT named_metrics.in_flight=1" + strings.Repeat(" ", 5000): 1,
	} {
		s := reported(t, lbhttp.Reports{}, header)
		assert.Zero(t, s.Reports, header)
		assert.Equal(t, bad, s.BadReports, header)
	}
	s := reported(t, lbhttp.Reports{Off: true}, "TEXT named_metrics.in_flight=7")
	assert.Zero(t, s.Reports)
}

// answerOf asks a handler once.
func answerOf(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w
}

func reportOf(w *httptest.ResponseRecorder) string {
	return w.Result().Header.Get("endpoint-load-metrics")
}

// The report is there however the handler answers, and says what the server holds then.
func TestReportLoad(t *testing.T) {
	ways := map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"header":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"body":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"flush":   func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
	}
	for way, h := range ways {
		assert.Equal(t, "TEXT named_metrics.in_flight=0", reportOf(answerOf(lbhttp.ReportLoad(h))), way)
	}
	own := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("endpoint-load-metrics", "TEXT a=1") }
	assert.Equal(t, "TEXT a=1", reportOf(answerOf(lbhttp.ReportLoad(http.HandlerFunc(own)))))
}

// Two that are served at once see each other; after some requests the service time is
// their latency by what was held.
func TestReportLoadCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := lbhttp.ReportLoad(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(100 * time.Millisecond)
			w.WriteHeader(http.StatusOK)
			time.Sleep(time.Millisecond)
		}))
		first := make(chan string)
		go func() { first <- reportOf(answerOf(h)) }()
		time.Sleep(50 * time.Millisecond)
		second := reportOf(answerOf(h))
		assert.Equal(t, "TEXT named_metrics.in_flight=1", <-first)
		assert.Equal(t, "TEXT named_metrics.in_flight=0", second)
		for range 60 {
			answerOf(h)
		}
		assert.Contains(t, reportOf(answerOf(h)), "TEXT named_metrics.in_flight=0,named_metrics.service_time=0.0999")
	})
}

// A handler that panics is counted down like any other.
func TestReportLoadOfPanics(t *testing.T) {
	h := lbhttp.ReportLoad(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Context().Value(panics{}) != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), panics{}, true), http.MethodGet, "/", nil)
	assert.Panics(t, func() { h.ServeHTTP(httptest.NewRecorder(), r) })
	assert.Equal(t, "TEXT named_metrics.in_flight=0", reportOf(answerOf(h)))
}

type panics struct{}

// nowhere is a ResponseWriter that keeps its header from one request to the next.
type nowhere struct{ h http.Header }

func (w nowhere) Header() http.Header         { return w.h }
func (w nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w nowhere) WriteHeader(int)             {}

func reportOnce() func() {
	h := lbhttp.ReportLoad(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	w, r := nowhere{http.Header{}}, httptest.NewRequest(http.MethodGet, "/", nil)
	return func() {
		delete(w.h, "Endpoint-Load-Metrics")
		h.ServeHTTP(w, r)
	}
}

func TestReportLoadAllocates(t *testing.T) {
	assert.LessOrEqual(t, testing.AllocsPerRun(100, reportOnce()), 2.)
}

func BenchmarkReportLoad(b *testing.B) {
	once := reportOnce()
	for b.Loop() {
		once()
	}
}
