package lbhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestF101BlackholedDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.black["a:80"] = true
		n.start(t, "b:80", text("hello"), nil)
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(200 * time.Millisecond)})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				begun := time.Now()
				resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
				body(t, resp, err)
				assert.LessOrEqual(t, time.Since(begun), 200*time.Millisecond, "one dial timeout, never two")
			})
		}
		wg.Wait()
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestF102NoBackendTwice(t *testing.T) {
	for _, attempts := range []int{3, 5} {
		var order []string
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			order = append(order, r.URL.Host)
			return answer(r, 503, io.NopCloser(strings.NewReader("busy at "+r.URL.Host))), nil
		})
		pool := newPool(t, calm, "a", "b", "c")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base, Retry: lbhttp.Retry{Attempts: attempts, Statuses: []int{503}}})
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		got := body(t, resp, err)
		assert.ElementsMatch(t, []string{"a", "b", "c"}, order, "each once, then it stops, also with %d attempts", attempts)
		assert.Equal(t, "busy at "+order[2], got, "the last answer stands, and can be read")
		assertIdle(t, pool)
	}
}

func TestF104TwoServicesStayApart(t *testing.T) {
	a, b, c, d := serve(t, status(503)), serve(t, status(503)), serve(t, text("2")), serve(t, text("2"))
	conns := lbhttp.NewConns(nil) // even over the same connections
	one := &http.Client{Transport: newTransport(t, sqf.New(newPool(t, calm, a.addr, b.addr)), lbhttp.Config{Base: conns, Retry: lbhttp.Retry{Statuses: []int{503}}})}
	two := &http.Client{Transport: newTransport(t, sqf.New(newPool(t, calm, c.addr, d.addr)), lbhttp.Config{Base: conns})}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				resp, err := one.Get("http://one/")
				if assert.NoError(t, err) {
					assert.Equal(t, 503, resp.StatusCode)
					_ = resp.Body.Close()
				}
				resp, err = two.Get("http://two/")
				if assert.NoError(t, err) {
					_ = resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 200, c.arrivals.Load()+d.arrivals.Load())
	assert.GreaterOrEqual(t, a.arrivals.Load()+b.arrivals.Load(), int64(200))
}

func TestF127Misdirected(t *testing.T) {
	for _, serve := range []func(testing.TB, http.HandlerFunc) *server{serve, serveTLS} {
		a, b := serve(t, status(421)), serve(t, echo)
		pool := newPool(t, calm, a.URL, b.URL)
		cfg, said := recorded(lbhttp.Config{Base: a.Client().Transport})
		tr := newTransport(t, firstOf(pool), cfg)
		for _, method := range []string{"GET", "POST"} {
			resp, err := tr.RoundTrip(request(t, t.Context(), method, "http://example.com/", strings.NewReader("payload")))
			assert.Equal(t, "payload", body(t, resp, err), method)
			assert.Equal(t, []evenkeel.Outcome{failure, success}, said())
		}
		// What cannot be replayed reaches the caller.
		resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://example.com/", io.MultiReader(strings.NewReader("payload"))))
		body(t, resp, err)
		assert.Equal(t, 421, resp.StatusCode)

		cfg.Retry.Off = true
		tr = newTransport(t, firstOf(pool), cfg)
		resp, err = tr.RoundTrip(request(t, t.Context(), "GET", "http://example.com/", nil))
		body(t, resp, err)
		assert.Equal(t, 421, resp.StatusCode)
		assertIdle(t, pool)
	}
}

// A Retry-After binds the backend that sent it: the others are asked at once.
func TestRetryAfterBindsOnlyItsBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(503)
		}, nil)
		n.start(t, "b:80", text("hello"), nil)
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), Retry: lbhttp.Retry{Statuses: []int{503}}})
		begun := time.Now()
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.Equal(t, "hello", body(t, resp, err))
		assert.Zero(t, time.Since(begun))

		require.NoError(t, pool.Replace("a"))
		resp, err = tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		body(t, resp, err)
		assert.Equal(t, 503, resp.StatusCode, "there is no other: its answer stands, for the caller to wait")
		assert.Zero(t, time.Since(begun))
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestRetriesAreBudgeted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		base := roundTripper(func(*http.Request) (*http.Response, error) { calls++; return nil, errMine })
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
		send := func(n int) (extra int) {
			calls = 0
			for range n {
				_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
				require.ErrorIs(t, err, errMine)
			}
			return calls - n
		}
		assert.InDelta(t, 100+200, send(1000), 1, "ten seconds of 10, and 20 % of 1000")
		_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.ErrorContains(t, err, "the retry budget is spent")
		time.Sleep(20 * time.Second)
		assert.InDelta(t, 50, send(50), 1, "the window has moved on")
		time.Sleep(time.Hour)
		assert.InDelta(t, 100+30, send(150), 1, "and old traffic buys nothing: 20 % of 150")
	})
}

func TestRetryIsTurnedOff(t *testing.T) {
	s := serve(t, text("hello"))
	gone := refused(t)
	pool := newPool(t, calm, gone, s.addr)
	for name, tr := range map[string]*lbhttp.Transport{
		"by Off":      newTransport(t, firstOf(pool), lbhttp.Config{Retry: lbhttp.Retry{Off: true}}),
		"by Attempts": newTransport(t, firstOf(pool), lbhttp.Config{Retry: lbhttp.Retry{Attempts: 1}}),
	} {
		_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		require.ErrorIs(t, err, syscall.ECONNREFUSED, name)
		assert.Equal(t, fmt.Sprintf("lbhttp: backend %s: dial tcp %s: connect: connection refused", gone, gone), err.Error())
	}
	tr := newTransport(t, firstOf(pool), lbhttp.Config{Retry: lbhttp.Retry{Share: -1, PerSecond: -1}})
	_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	assert.ErrorContains(t, err, "the retry budget is spent")
	assertIdle(t, pool)
}

// A wrapper that embeds a balancer loses nothing: retries go through it.
func TestWrappersKeepRetries(t *testing.T) {
	s := serve(t, text("hello"))
	pool := newPool(t, calm, refused(t), s.addr)
	tr := newTransport(t, struct{ evenkeel.Balancer[string] }{firstOf(pool)}, lbhttp.Config{})
	resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
	assertIdle(t, pool)
}

func TestErrorSaysWhatWasTried(t *testing.T) {
	gone := []string{refused(t), refused(t), refused(t)}
	drop := serve(t, reset)
	pool := newPool(t, calm, append([]string{drop.addr}, gone...)...)
	tr := newTransport(t, firstOf(pool), lbhttp.Config{})
	_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	var e *lbhttp.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Tries, 3)
	for i, b := range []string{drop.addr, gone[0], gone[1]} {
		assert.Equal(t, b, e.Tries[i].Backend)
	}
	assert.Equal(t, "3 attempts were made", e.Stopped)
	assert.ErrorIs(t, err, io.EOF)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.NotErrorIs(t, err, evenkeel.ErrNoBackends)
	assert.Equal(t, fmt.Sprintf("lbhttp: backend %s: EOF; backend %s: dial tcp %s: connect: connection refused; "+
		"backend %s: dial tcp %s: connect: connection refused (3 attempts were made)",
		drop.addr, gone[0], gone[0], gone[1], gone[1]), err.Error())
	assert.False(t, e.Timeout())

	require.NoError(t, pool.Replace(gone[0]))
	_, err = tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	assert.NotErrorIs(t, err, evenkeel.ErrNoBackends, "there was one, and it was tried (F087)")
	assert.ErrorContains(t, err, "no further attempt: evenkeel: no backend is available: of 1 members, 1 tried already")
}

// The caller's deadline bounds all attempts together.
func TestDeadlineBoundsAllAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		for _, h := range []string{"a:80", "b:80", "c:80"} {
			n.black[h] = true
		}
		pool := newPool(t, calm, "a", "b", "c")
		cfg, said := recorded(lbhttp.Config{Base: n.base(300 * time.Millisecond)})
		tr := newTransport(t, sqf.New(pool), cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
		assert.Equal(t, 500*time.Millisecond, time.Since(begun))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var e *lbhttp.Error
		require.ErrorAs(t, err, &e)
		assert.True(t, e.Timeout())
		assert.Len(t, e.Tries, 2)
		assert.Equal(t, []evenkeel.Outcome{failure, deadline}, said(), "the base's own timeout, and the caller's")
		assertIdle(t, pool)
		tr.CloseIdleConnections()
		time.Sleep(time.Second) // the dial that was left alone
	})
}
