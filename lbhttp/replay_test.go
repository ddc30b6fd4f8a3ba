package lbhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// echo answers with what it was sent.
func echo(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }

func TestF106PostAfterTheServerClosedTheConnection(t *testing.T) {
	var mu sync.Mutex
	var got []int // lengths of the bodies that were received whole
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			got = append(got, len(b))
		}
	})
	pool := newPool(t, calm, s.addr)
	c := client(t, pool, lbhttp.Config{})
	payload := strings.Repeat("x", 628)
	answered := 0
	for range 50 {
		req := request(t, t.Context(), "POST", "http://svc/", strings.NewReader(payload))
		u, b := req.URL, req.Body
		resp, err := c.Do(req)
		assert.Same(t, u, req.URL)
		assert.Equal(t, b, req.Body, "the request is as it was")
		if err == nil { // or the client has seen too late that its connection was closed
			body(t, resp, nil)
			answered++
		}
		s.CloseClientConnections()
	}
	s.Close() // no handler runs any more
	assert.Positive(t, answered, "the first, at least")
	assert.GreaterOrEqual(t, len(got), answered)
	assert.LessOrEqual(t, len(got), 50, "none was carried out twice")
	for _, n := range got {
		assert.Equal(t, 628, n, "whole or not at all")
	}
	assertIdle(t, pool)
}

// closeOnce fails on a read after Close and counts closes, as a body that came
// from GetBody too.
type closeOnce struct {
	io.Reader
	closed atomic.Int64
}

func (b *closeOnce) Read(p []byte) (int, error) {
	if b.closed.Load() > 0 {
		return 0, errors.New("read after close")
	}
	return b.Reader.Read(p)
}

func (b *closeOnce) Close() error { b.closed.Add(1); return nil }

func TestF107DialErrorWithABody(t *testing.T) {
	for _, getBody := range []bool{true, false} {
		s := serve(t, echo)
		pool := newPool(t, calm, refused(t), s.addr)
		tr := newTransport(t, firstOf(pool), lbhttp.Config{})
		var copies []*closeOnce
		fresh := func() (io.ReadCloser, error) {
			b := &closeOnce{Reader: strings.NewReader("payload")}
			copies = append(copies, b)
			return b, nil
		}
		req := request(t, t.Context(), "POST", "http://svc/", must(fresh()))
		req.ContentLength = 7
		if getBody {
			req.GetBody = fresh
		}
		resp, err := tr.RoundTrip(req)
		assert.Equal(t, "payload", body(t, resp, err))
		for i, b := range copies {
			assert.EqualValues(t, 1, b.closed.Load(), "copy %d, GetBody %v", i, getBody)
		}
		if getBody {
			assert.Len(t, copies, 2)
		} else {
			assert.Len(t, copies, 1, "nothing was read of it: it is sent after all")
		}
	}
}

// drained is a response body that counts what is done to it.
type drained struct {
	io.Reader
	sawEOF bool
	closes atomic.Int64
}

func (d *drained) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.sawEOF = d.sawEOF || err == io.EOF
	return n, err
}

func (d *drained) Close() error { d.closes.Add(1); return nil }

func TestF109ReplayForAStatus(t *testing.T) {
	var left []*drained
	var got []string
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		got = append(got, string(b))
		if len(got) < 3 {
			d := &drained{Reader: strings.NewReader(strings.Repeat("x", 1000))}
			left = append(left, d)
			return answer(r, 429, d), nil
		}
		return answer(r, 200, io.NopCloser(strings.NewReader("done"))), nil
	})
	pool := newPool(t, calm, "a", "b", "c")
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base, Retry: lbhttp.Retry{Statuses: []int{429}}})
	resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", strings.NewReader("payload")))
	assert.Equal(t, "done", body(t, resp, err))
	assert.Equal(t, []string{"payload", "payload", "payload"}, got)
	require.Len(t, left, 2)
	for _, d := range left {
		assert.True(t, d.sawEOF, "drained")
		assert.EqualValues(t, 1, d.closes.Load())
	}

	// Without the code in Config nothing of this happens.
	got, left = nil, nil
	tr = newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
	resp, err = tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", strings.NewReader("payload")))
	body(t, resp, err)
	assert.Equal(t, 429, resp.StatusCode)
	assert.Len(t, got, 1)
}

// A response that does not end is not waited for.
func TestDrainingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, nil)
		n.start(t, "b:80", text("hello"), nil)
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), Retry: lbhttp.Retry{Statuses: []int{503}}})
		begun := time.Now()
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.Equal(t, "hello", body(t, resp, err))
		assert.LessOrEqual(t, time.Since(begun), 50*time.Millisecond)
		tr.CloseIdleConnections()
	})
}

// There is no hook that turns a last response into an error, so its body is
// always the caller's to close (F111); what is closed leaves nothing behind.
func TestF111TheLastReplyIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		servers := []*memServer{n.start(t, "a:80", status(503), nil), n.start(t, "b:80", status(503), nil), n.start(t, "c:80", status(503), nil)}
		pool := newPool(t, calm, "a", "b", "c")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0), Retry: lbhttp.Retry{Statuses: []int{503}, PerSecond: 1000}})
		for range 20 {
			resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
			body(t, resp, err)
			assert.Equal(t, 503, resp.StatusCode)
		}
		assertIdle(t, pool)
		tr.CloseIdleConnections()
		synctest.Wait()
		for _, s := range servers {
			assert.EqualValues(t, 20, s.calls.Load())
			assert.EqualValues(t, 1, s.opened.Load(), "connections are used again: the replies were drained")
			assert.Zero(t, s.open.Load())
		}
	})
}

func TestF112PostIsNotSentTwice(t *testing.T) {
	for _, serve := range []func(testing.TB, http.HandlerFunc) *server{serve, serveTLS} {
		a, b := serve(t, reset), serve(t, reset)
		pool := newPool(t, calm, a.URL, b.URL)
		c := client(t, pool, lbhttp.Config{Base: a.Client().Transport})
		arrivals := func() int64 { return a.arrivals.Swap(0) + b.arrivals.Swap(0) }

		_, err := c.Post("http://example.com/", "text/plain", strings.NewReader("payload"))
		require.Error(t, err)
		assert.ErrorContains(t, err, "the request may have been received, and POST is not idempotent")
		assert.EqualValues(t, 1, arrivals())

		req := request(t, t.Context(), "POST", "http://example.com/", strings.NewReader("payload"))
		req.Header.Set("Idempotency-Key", "1")
		_, err = c.Do(req)
		require.Error(t, err)
		assert.ErrorContains(t, err, "no further attempt")
		assert.EqualValues(t, 2, arrivals(), "marked as idempotent: once on each")

		for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"} {
			_, err = c.Do(request(t, t.Context(), method, "http://example.com/", nil))
			require.Error(t, err)
			assert.EqualValues(t, 2, arrivals(), method)
		}
		_, err = c.Do(request(t, t.Context(), "PATCH", "http://example.com/", nil))
		require.Error(t, err)
		assert.EqualValues(t, 1, arrivals(), "PATCH")
		assertIdle(t, pool)
	}
}

// A POST is tried again if its backend refuses the connection, or drops it before
// the TLS handshake is done: nothing was sent.
func TestPostIsTriedAgainIfNotSent(t *testing.T) {
	good := serveTLS(t, echo)
	shut := start(t, text("never"), func(s *httptest.Server) { s.Listener = slammer{s.Listener}; s.Start() })
	for _, first := range []string{refused(t), shut.addr} {
		pool := newPool(t, calm, first, good.addr)
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: good.Client().Transport})
		for _, b := range []io.Reader{strings.NewReader("payload"), io.MultiReader(strings.NewReader("payload"))} {
			resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "https://example.com/", b))
			assert.Equal(t, "payload", body(t, resp, err))
		}
		assert.EqualValues(t, 2, stats(t, pool, first).Failures)
		assertIdle(t, pool)
	}
}

// What the base's own dial function returns does not matter either.
func TestPostIsTriedAgainAfterAnOddDialError(t *testing.T) {
	s := serve(t, echo)
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "gone:80" {
			return nil, errMine
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	for _, gone := range []string{"gone", "http://gone/v2"} {
		pool := newPool(t, calm, gone, s.addr)
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base})
		resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", strings.NewReader("payload")))
		assert.Equal(t, "payload", body(t, resp, err))
		require.NoError(t, pool.Replace(gone))
		_, err = tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", strings.NewReader("payload")))
		require.ErrorIs(t, err, errMine)
		assert.ErrorContains(t, err, "backend "+gone+": my own reason (no further attempt")
	}
}

func TestBodyThatFailsIsNotReplayed(t *testing.T) {
	a, b := serve(t, status(200)), serve(t, status(200))
	pool := newPool(t, calm, a.addr, b.addr)
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{})
	req := request(t, t.Context(), "PUT", "http://svc/", io.MultiReader(bytes.NewReader(make([]byte, 1<<16)), broken{}))
	_, err := tr.RoundTrip(req)
	require.ErrorIs(t, err, errMine)
	assert.ErrorContains(t, err, "the caller's request body failed")

	gone := newPool(t, calm, refused(t), a.addr)
	tr = newTransport(t, firstOf(gone), lbhttp.Config{})
	req = request(t, t.Context(), "PUT", "http://svc/", strings.NewReader("x"))
	req.GetBody = func() (io.ReadCloser, error) { return nil, errMine }
	_, err = tr.RoundTrip(req)
	assert.ErrorContains(t, err, "its body cannot be replayed: my own reason")
	assertIdle(t, pool)
	assertIdle(t, gone)
}
