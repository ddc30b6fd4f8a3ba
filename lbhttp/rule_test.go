package lbhttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// trailing is a body that works out the request's trailer while it is read, as
// http.Request allows.
type trailing struct {
	trailer       http.Header
	reading, done chan struct{}
}

func (b trailing) Read([]byte) (int, error) {
	close(b.reading)
	for range 100 {
		b.trailer["Sum"] = []string{"x"}
	}
	close(b.done)
	return 0, io.EOF
}

func (trailing) Close() error { return nil }

// A base may bring an error while it still reads the request's body.
func TestTrailerIsLeftAloneWhileTheBodyIsRead(t *testing.T) {
	pool := newPool(t, calm, "a")
	var b trailing
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := r.Body
		go func() { _, _ = sent.Read(nil) }()
		<-b.reading
		return nil, errMine
	})})
	for range 20 {
		b = trailing{http.Header{"Sum": nil}, make(chan struct{}), make(chan struct{})}
		req := request(t, t.Context(), "POST", "http://svc/", b)
		req.Trailer = b.trailer
		_, err := tr.RoundTrip(req)
		require.ErrorIs(t, err, errMine)
		<-b.done
	}
}

func TestF084OutcomesGoToTheBackendThatHadTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(http.ResponseWriter, *http.Request) {
			time.Sleep(300 * time.Millisecond)
			panic(http.ErrAbortHandler)
		}, nil)
		n.start(t, "b:80", func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Millisecond) }, nil)
		pool := newPool(t, calm, "a", "b")
		got := map[string]map[evenkeel.Outcome]int{"a": {}, "b": {}}
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), Outcome: func(a lbhttp.Attempt) evenkeel.Outcome {
			how := lbhttp.DefaultOutcome(a)
			got[a.Backend][how]++
			if a.Backend == "b" {
				assert.Equal(t, 20*time.Millisecond, a.ToHeader, "b's own time, without a's")
			} else {
				assert.Zero(t, a.ToHeader)
			}
			return how
		}})
		for range 30 {
			resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
			body(t, resp, err)
		}
		assert.Equal(t, map[evenkeel.Outcome]int{failure: 30}, got["a"])
		assert.Equal(t, map[evenkeel.Outcome]int{success: 30}, got["b"])
		tr.CloseIdleConnections()
	})
}

// With the rule replaced a 404 can be a failure and a 500 none.
func TestOutcomeIsReplaced(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/404" {
			w.WriteHeader(404)
			return
		}
		w.WriteHeader(500)
	})
	pool := newPool(t, evenkeel.Config{Outcome: func(context.Context, error) evenkeel.Outcome {
		assert.Fail(t, "the pool's rule is not asked")
		return success
	}}, s.addr)
	var calls atomic.Int64
	c := client(t, pool, lbhttp.Config{Outcome: func(a lbhttp.Attempt) evenkeel.Outcome {
		calls.Add(1)
		if a.Response.StatusCode == 404 {
			return failure
		}
		return success
	}})
	for range 3 {
		body(t, must(c.Get("http://svc/404")), nil)
		body(t, must(c.Get("http://svc/500")), nil)
	}
	assert.EqualValues(t, 6, calls.Load(), "once an attempt")
	assert.EqualValues(t, 3, stats(t, pool, s.addr).Failures)
}

// The response is the caller's as soon as it has it, and it may change it, as
// httputil.ReverseProxy does, while the rule looks at the attempt.
func TestOutcomeSeesTheResponseAsItCame(t *testing.T) {
	for _, own := range []bool{false, true} {
		pool := newPool(t, calm, "a")
		var cfg lbhttp.Config
		asked := make(chan struct{}, 1)
		if own {
			cfg.Outcome = func(a lbhttp.Attempt) evenkeel.Outcome {
				assert.Equal(t, 500, a.Response.StatusCode)
				assert.Equal(t, http.Header{"Kind": {"original"}}, a.Response.Header)
				assert.Nil(t, a.Response.Trailer)
				assert.Equal(t, http.NoBody, a.Response.Body)
				asked <- struct{}{}
				return lbhttp.DefaultOutcome(a)
			}
		}
		cfg.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 500, io.NopCloser(strings.NewReader("x")))
			resp.Header.Set("Kind", "original")
			resp.Trailer = http.Header{"Sum": nil}
			return resp, nil
		})
		tr := newTransport(t, sqf.New(pool), cfg)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
		require.NoError(t, err)
		resp.Header.Set("Kind", "changed")
		resp.StatusCode = 200
		cancel() // the rule is asked on another goroutine, while this one goes on
		for range 100 {
			resp.Header.Set("More", "of it")
			resp.StatusCode++
		}
		require.NoError(t, resp.Body.Close())
		if own {
			<-asked
		}
		assert.EqualValues(t, 1, stats(t, pool, "a").Failures)
		assert.EqualError(t, stats(t, pool, "a").LastError, "context canceled")
	}
}

// A verdict may stand in the trailer, as that of gRPC does.
func TestOutcomeSeesTheTrailer(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = io.WriteString(w, "x")
			w.Header().Set("Grpc-Status", "14")
		})
		pool := newPool(t, calm, s.URL)
		var got http.Header
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: s.Client().Transport, Outcome: func(a lbhttp.Attempt) evenkeel.Outcome {
			got = a.Response.Trailer
			if got.Get("Grpc-Status") == "14" {
				return failure
			}
			return success
		}})
		get := func() *http.Response {
			resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://example.com/", nil))
			require.NoError(t, err)
			return resp
		}
		resp := get()
		body(t, resp, nil)
		assert.Equal(t, http.Header{"Grpc-Status": {"14"}}, got)
		assert.EqualValues(t, 1, stats(t, pool, s.URL).Failures)
		resp.Trailer.Set("Grpc-Status", "0")
		assert.Equal(t, "14", got.Get("Grpc-Status"), "the trailer is a copy")

		require.NoError(t, get().Body.Close())
		assert.Nil(t, got, "the body was not read to its end")
		assert.EqualValues(t, 1, stats(t, pool, s.URL).Failures)
	})
}

func TestOutcomeThatPanicsReleasesTheLease(t *testing.T) {
	s := serve(t, text("x"))
	pool := newPool(t, calm, s.addr)
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Outcome: func(lbhttp.Attempt) evenkeel.Outcome { panic("oh") }})
	for _, method := range []string{"GET", "HEAD"} { // out of Read, and of RoundTrip
		req := request(t, t.Context(), method, "http://svc/", nil)
		assert.PanicsWithValue(t, "oh", func() {
			resp, err := tr.RoundTrip(req)
			body(t, resp, err)
		}, method)
		assertIdle(t, pool)
	}
}
