package lbhttp_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
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

// hedge is a set-up in which the budget is no hindrance.
func hedge(after time.Duration) lbhttp.Hedge {
	return lbhttp.Hedge{On: true, After: after, Share: 1}
}

const ms = time.Millisecond

func TestHedge(t *testing.T) {
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		a, b, c http.HandlerFunc
		method  string
		got     string
		took    time.Duration
		stats   lbhttp.Stats
		ends    map[string]evenkeel.Outcome
	}{
		"the hedge is faster": {slow(time.Hour, text("a")), slow(50*ms, text("b")), nil, "GET", "b", 150 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1, HedgesWon: 1}, map[string]evenkeel.Outcome{"a": neutral, "b": success}},
		"a body is sent twice": {slow(time.Hour, echo), echo, nil, "PUT", "payload", 100 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1, HedgesWon: 1}, map[string]evenkeel.Outcome{"a": neutral, "b": success}},
		"the first is faster": {slow(150*ms, text("a")), slow(time.Hour, text("b")), nil, "GET", "a", 150 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1}, map[string]evenkeel.Outcome{"a": success, "b": neutral}},
		"the first is in time": {slow(99*ms, text("a")), text("b"), nil, "GET", "a", 99 * ms,
			lbhttp.Stats{Attempts: 1}, map[string]evenkeel.Outcome{"a": success}},
		"the first fails beside it": {slow(150*ms, drop), slow(100*ms, text("b")), nil, "GET", "b", 200 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1, HedgesWon: 1}, map[string]evenkeel.Outcome{"a": failure, "b": success}},
		"the first is a 500 beside it": {slow(150*ms, status(500)), slow(100*ms, text("b")), nil, "GET", "b", 200 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1, HedgesWon: 1}, map[string]evenkeel.Outcome{"a": failure, "b": success}},
		"the hedge fails": {slow(300*ms, text("a")), drop, nil, "GET", "a", 300 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1}, map[string]evenkeel.Outcome{"a": success, "b": failure}},
		"the hedge is a 500": {slow(300*ms, text("a")), status(500), nil, "GET", "a", 300 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1}, map[string]evenkeel.Outcome{"a": success, "b": failure}},
		"both fail, and a third is tried": {slow(150*ms, drop), slow(100*ms, drop), text("c"), "GET", "c", 200 * ms,
			lbhttp.Stats{Attempts: 3, Hedges: 1, Retries: map[lbhttp.Reason]uint64{lbhttp.ReasonBroken: 1}},
			map[string]evenkeel.Outcome{"a": failure, "b": failure, "c": success}},
		"one fails, the other is a 500": {slow(150*ms, drop), slow(100*ms, status(500)), nil, "GET", "", 200 * ms,
			lbhttp.Stats{Attempts: 2, Hedges: 1}, map[string]evenkeel.Outcome{"a": failure, "b": failure}},
		"not idempotent": {slow(time.Second, text("a")), text("b"), nil, "POST", "a", time.Second,
			lbhttp.Stats{Attempts: 1}, map[string]evenkeel.Outcome{"a": success}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newMemNet()
				n.start(t, "a:80", c.a, nil)
				n.start(t, "b:80", c.b, nil)
				pool := newPool(t, calm, "a", "b")
				if c.c != nil {
					n.start(t, "c:80", c.c, nil)
					require.NoError(t, pool.Replace("a", "b", "c"))
				}
				var seen attempts
				tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), Hedge: hedge(100 * ms), OnAttempt: seen.add})
				begun := time.Now()
				resp, err := tr.RoundTrip(request(t, t.Context(), c.method, "http://svc/", strings.NewReader("payload")))
				got := body(t, resp, err)
				assert.Equal(t, c.got, got)
				assert.Equal(t, c.took, time.Since(begun))
				c.stats.Requests = 1
				if c.stats.Retries == nil {
					c.stats.Retries = map[lbhttp.Reason]uint64{}
				}
				assert.Equal(t, c.stats, tr.Stats())
				ends := map[string]evenkeel.Outcome{}
				for _, a := range seen.take() {
					ends[a.Backend] = a.Outcome
				}
				assert.Equal(t, c.ends, ends)
				assertIdle(t, pool)
				tr.CloseIdleConnections()
				time.Sleep(2 * time.Hour) // the handlers that nobody waits for
			})
		})
	}
}

// closed is a body that says whether it was closed.
type closed struct {
	io.Reader
	yes atomic.Bool
}

func (c *closed) Close() error { c.yes.Store(true); return nil }

// Two responses that come together are one answer: the other one's body is closed.
func TestHedgeClosesTheBodyThatLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var made []*closed
		gate := make(chan struct{})
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			b := &closed{Reader: strings.NewReader("x")}
			mu.Lock()
			if made = append(made, b); len(made) == 2 {
				close(gate)
			}
			mu.Unlock()
			<-gate // whatever the context says
			return answer(r, 200, b), nil
		})
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base, Hedge: hedge(100 * ms)})
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		require.NoError(t, err)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, made, 2)
		assert.NotEqual(t, made[0].yes.Load(), made[1].yes.Load(), "one is open, and is the caller's")
		assert.Equal(t, 1, pool.InFlight("a")+pool.InFlight("b"))
		body(t, resp, nil)
		assert.True(t, made[0].yes.Load() && made[1].yes.Load())
		assertIdle(t, pool)
	})
}

// A request whose caller gives up ends both attempts.
func TestHedgeEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base, Hedge: hedge(100 * ms)})
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errMine)
		defer cancel()
		_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.EqualValues(t, 1, tr.Stats().Hedges)
		assertIdle(t, pool)
	})
}

// Hedges stay within their budget, and away from a pool that is busy.
func TestHedgesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return answer(r, 200, io.NopCloser(strings.NewReader("x"))), nil
		})
		send := func(pool *evenkeel.Pool[string], n int) lbhttp.Stats {
			tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base, Hedge: lbhttp.Hedge{On: true, After: 100 * ms}})
			done := make(chan error)
			for range n {
				go func() {
					resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
					if err == nil {
						err = resp.Body.Close()
					}
					done <- err
				}()
			}
			for range n {
				assert.NoError(t, <-done)
			}
			return tr.Stats()
		}
		s := send(newPool(t, calm, "a", "b"), 200)
		assert.EqualValues(t, 10, s.Hedges, "5 %")
		assert.EqualValues(t, 190, s.HedgesOverBudget)
		busy := evenkeel.Config{MaxInFlight: 100, Backlog: 100}
		assert.Zero(t, send(newPool(t, busy, "a", "b"), 200).Hedges, "every backend is at its limit")
	})
}

// The wait is the 95th percentile, measured.
func TestHedgeAfterThePercentile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			if n := calls.Add(1); r.URL.Host == "a" && n%40 == 0 {
				select {
				case <-time.After(10 * time.Second):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			time.Sleep(10 * ms)
			return answer(r, 200, io.NopCloser(strings.NewReader("x"))), nil
		})
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base, Hedge: lbhttp.Hedge{On: true}})
		longest := time.Duration(0)
		for i := range 400 {
			begun := time.Now()
			resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
			body(t, resp, err)
			if took := time.Since(begun); i > 100 {
				longest = max(longest, took)
			}
		}
		assert.LessOrEqual(t, longest, 25*ms, "10 ms and a quarter, and 10 ms more")
		assert.Positive(t, tr.Stats().HedgesWon)
		assertIdle(t, pool)
	})
}

func TestHedgeIsChecked(t *testing.T) {
	for field, h := range map[string]lbhttp.Hedge{
		"Hedge.After": {After: -1}, "Hedge.Share: -1": {Share: -1}, "Hedge.Share: 2": {Share: 2}, "Hedge.Share: NaN": {Share: math.NaN()},
	} {
		_, err := lbhttp.NewWith(firstOf(newPool(t, calm, "a")), lbhttp.Config{Hedge: h})
		require.ErrorIs(t, err, evenkeel.ErrBadConfig)
		assert.ErrorContains(t, err, field)
	}
}

// A body that cannot be had once more costs the hedge, not the request.
func TestHedgeWithoutASecondBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", slow(time.Second, echo), nil)
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), Hedge: hedge(100 * ms)})
		req := request(t, t.Context(), "PUT", "http://svc/", strings.NewReader("payload"))
		req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("no more") }
		resp, err := tr.RoundTrip(req)
		assert.Equal(t, "payload", body(t, resp, err))
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}
