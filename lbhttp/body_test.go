package lbhttp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// countedConn counts how many pieces are written.
type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) { c.writes.Add(1); return c.Conn.Write(p) }

// A body in memory goes out in one piece with the header, as over the bare
// transport: it is recognised behind the balancer too.
func TestBodiesInMemoryAreSentInOnePiece(t *testing.T) {
	s := serve(t, echo)
	var writes atomic.Int64
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return countedConn{c, &writes}, err
	}}
	defer base.CloseIdleConnections()
	lb := newTransport(t, sqf.New(newPool(t, calm, s.addr)), lbhttp.Config{Base: base})
	for name, fresh := range map[string]func() io.Reader{
		"strings.Reader": func() io.Reader { return strings.NewReader("payload") },
		"bytes.Reader":   func() io.Reader { return bytes.NewReader([]byte("payload")) },
		"bytes.Buffer":   func() io.Reader { return bytes.NewBufferString("payload") },
		"any reader":     func() io.Reader { return io.MultiReader(strings.NewReader("payload")) },
	} {
		count := func(rt http.RoundTripper) int64 {
			writes.Store(0)
			resp, err := rt.RoundTrip(request(t, t.Context(), "POST", s.URL, fresh()))
			assert.Equal(t, "payload", body(t, resp, err))
			return writes.Load()
		}
		assert.Equal(t, count(base), count(lb), name)
	}
}

// A base may rewind a body by itself; a copy that fails is the caller's fault too,
// and every copy is closed once.
func TestBaseThatReplaysByItself(t *testing.T) {
	var copies []*closeOnce
	fail := false
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
		again, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		defer again.Close()
		if b, err := io.ReadAll(again); err != nil {
			return nil, err
		} else if string(b) != "payload" {
			return nil, errors.New("another body: " + string(b))
		}
		_ = again.Close()
		return answer(r, 200, http.NoBody), nil
	})
	pool := newPool(t, calm, "a")
	cfg, said := recorded(lbhttp.Config{Base: base})
	tr := newTransport(t, sqf.New(pool), cfg)
	send := func(getBody func() (io.ReadCloser, error)) error {
		copies = nil
		first := &closeOnce{Reader: strings.NewReader("payload")}
		copies = append(copies, first)
		req := request(t, t.Context(), "PUT", "http://svc/", first)
		req.ContentLength, req.GetBody = 7, getBody
		_, err := tr.RoundTrip(req)
		for i, c := range copies {
			assert.EqualValues(t, 1, c.closed.Load(), "copy %d", i)
		}
		return err
	}
	fresh := func() (io.ReadCloser, error) {
		c := &closeOnce{Reader: strings.NewReader("payload")}
		if fail {
			c.Reader = broken{}
		}
		copies = append(copies, c)
		return c, nil
	}
	require.NoError(t, send(fresh))
	assert.Equal(t, []evenkeel.Outcome{success}, said())
	fail = true
	require.ErrorIs(t, send(fresh), errMine)
	assert.Equal(t, []evenkeel.Outcome{neutral}, said())
	require.ErrorIs(t, send(func() (io.ReadCloser, error) { return nil, errMine }), errMine)
	assert.Equal(t, []evenkeel.Outcome{neutral}, said())
	assertIdle(t, pool)
}

// Request.Cancel is deprecated, and http.Client closes it for its Timeout.
func TestLegacyCancelIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		pool := newPool(t, calm, "a", "b")
		cfg, said := recorded(lbhttp.Config{Base: n.base(0)})
		tr := newTransport(t, firstOf(pool), cfg)
		gone := make(chan struct{})
		req := request(t, t.Context(), "GET", "http://svc/", nil)
		req.Cancel = gone //nolint:staticcheck // that is what is tested
		done := make(chan error)
		go func() { _, err := tr.RoundTrip(req); done <- err }()
		synctest.Wait()
		assert.Equal(t, 1, pool.InFlight("a"))
		close(gone)
		require.Error(t, <-done)
		assert.Equal(t, []evenkeel.Outcome{neutral}, said(), "and no second attempt")
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

// duplex is a stream both ways that has seen better days.
type duplex struct {
	io.Reader
	io.Writer
	closed int
}

func (d *duplex) Close() error { d.closed++; return nil }

func TestUpgradedStreamsOfACustomBase(t *testing.T) {
	pool := newPool(t, calm, "a")
	var b io.ReadCloser
	cfg, said := recorded(lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) { return answer(r, 101, b), nil })})
	tr := newTransport(t, sqf.New(pool), cfg)
	get := func() io.ReadCloser {
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		require.NoError(t, err)
		require.Equal(t, 1, pool.InFlight("a"))
		return resp.Body
	}
	scratch := make([]byte, 8)

	// The other side has said all; this one may go on.
	d := &duplex{Reader: strings.NewReader(""), Writer: io.Discard}
	b = d
	got := get().(io.ReadWriteCloser)
	_, err := got.Read(scratch)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, 1, pool.InFlight("a"))
	_, err = io.WriteString(got, "x")
	require.NoError(t, err)
	require.NoError(t, got.Close())
	assert.Equal(t, 1, d.closed)
	assert.Equal(t, []evenkeel.Outcome{success}, said())
	assert.ErrorIs(t, got.(interface{ CloseWrite() error }).CloseWrite(), http.ErrNotSupported)

	// It breaks off.
	b = &duplex{Reader: broken{}, Writer: io.Discard}
	got = get().(io.ReadWriteCloser)
	_, err = got.Read(scratch)
	require.ErrorIs(t, err, errMine)
	assert.Zero(t, pool.InFlight("a"))
	assert.Equal(t, []evenkeel.Outcome{failure}, said())

	// A base whose body cannot be written.
	b = io.NopCloser(strings.NewReader(""))
	_, ok := get().(io.Writer)
	assert.False(t, ok)
}

// held is a stream that says nothing until it is closed. Its Close comes back when
// whoever was reading has gone: an HTTP/2 stream may have it so too.
type held struct {
	reading, closing, gone chan struct{}
}

func (h held) Read([]byte) (int, error)    { close(h.reading); <-h.closing; return 0, errMine }
func (h held) Write(p []byte) (int, error) { return len(p), nil }
func (h held) Close() error                { close(h.closing); <-h.gone; return nil }

// A caller may close a body to wake up another goroutine of its own that reads it.
func TestClosingABodyThatIsReadIsNoFailure(t *testing.T) {
	for _, code := range []int{200, 101} {
		h := held{make(chan struct{}), make(chan struct{}), make(chan struct{})}
		pool := newPool(t, calm, "a")
		cfg, said := recorded(lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) { return answer(r, code, h), nil })})
		tr := newTransport(t, sqf.New(pool), cfg)
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		require.NoError(t, err)
		go func() {
			defer close(h.gone)
			_, err := resp.Body.Read(make([]byte, 8))
			assert.ErrorIs(t, err, errMine)
		}()
		<-h.reading
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, []evenkeel.Outcome{success}, said(), code)
		assert.Zero(t, stats(t, pool, "a").Failures)
		assertIdle(t, pool)
	}
}

// A base that fetches a token on the way, over the same connections and under the
// same context, is not sent to the backend with that.
func TestConnsTellARequestOfTheBaseFromTheCallers(t *testing.T) {
	auth := serve(t, text("token"))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) })
	conns := lbhttp.NewConns(nil)
	defer conns.CloseIdleConnections()
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := conns.RoundTrip(request(t, r.Context(), "GET", auth.URL, nil))
		token := body(t, resp, err)
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", token)
		return conns.RoundTrip(r)
	})
	pool := newPool(t, calm, s.addr)
	assert.Equal(t, "token", body(t, must(client(t, pool, lbhttp.Config{Base: base}).Get("http://svc/")), nil))
	assertIdle(t, pool)

	_, err := conns.RoundTrip(&http.Request{URL: must(http.NewRequest("GET", "http://h:0/", nil)).URL, Header: http.Header{}})
	assert.ErrorIs(t, err, evenkeel.ErrBadBackend)
}
