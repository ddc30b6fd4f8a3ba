package lbhttp_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// Busy is load, not sickness, and its Retry-After is kept.
func TestF182Busy(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		after func() string
		want  evenkeel.Outcome
		wait  time.Duration
	}{
		"429":                        {429, func() string { return "" }, evenkeel.OutcomeOverloaded, 0},
		"429 for seconds":            {429, func() string { return "10" }, evenkeel.OutcomeOverloaded, 10 * time.Second},
		"503":                        {503, func() string { return "" }, failure, 0},
		"503 for seconds":            {503, func() string { return "10" }, evenkeel.OutcomeOverloaded, 10 * time.Second},
		"503 for no time":            {503, func() string { return "0" }, evenkeel.OutcomeOverloaded, 0},
		"503 until a date":           {503, func() string { return time.Now().Add(10 * time.Second).UTC().Format(http.TimeFormat) }, evenkeel.OutcomeOverloaded, 10 * time.Second},
		"503 until a date of before": {503, func() string { return time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat) }, evenkeel.OutcomeOverloaded, 0},
		"503 with nonsense":          {503, func() string { return "soon" }, evenkeel.OutcomeOverloaded, 0},
		"500 with a Retry-After":     {500, func() string { return "10" }, failure, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newMemNet()
				a := n.start(t, "a:80", func(w http.ResponseWriter, _ *http.Request) {
					if after := c.after(); after != "" {
						w.Header().Set("Retry-After", after)
					}
					w.WriteHeader(c.code)
				}, nil)
				n.start(t, "b:80", text("hello"), nil)
				var seen attempts
				pool := newPool(t, evenkeel.Config{}, "a", "b")
				tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), OnAttempt: seen.add})
				get := func() int {
					resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
					body(t, resp, err)
					return resp.StatusCode
				}
				require.Equal(t, c.code, get())
				all := seen.take()
				require.Len(t, all, 1)
				assert.Equal(t, c.want, all[0].Outcome)
				assert.Equal(t, c.want == evenkeel.OutcomeOverloaded, all[0].Busy)
				assert.Equal(t, c.wait, all[0].RetryAfter)
				if c.wait > 0 {
					for range 20 {
						assert.Equal(t, 200, get(), "it asked not to be called")
					}
					assert.EqualValues(t, 1, a.calls.Load())
				}
				assertIdle(t, pool)
				tr.CloseIdleConnections()
			})
		})
	}
}

// The pause is that of whoever sent the header.
func TestF182RetryAfterOfOneAttemptPausesThatBackend(t *testing.T) {
	a := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(503)
	})
	b := serve(t, text("hello"))
	pool := newPool(t, evenkeel.Config{}, a.addr, b.addr)
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Retry: lbhttp.Retry{Statuses: []int{503}}})
	for range 50 {
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.Equal(t, "hello", body(t, resp, err))
	}
	assert.LessOrEqual(t, a.arrivals.Load(), int64(1))
	assertIdle(t, pool)
}
