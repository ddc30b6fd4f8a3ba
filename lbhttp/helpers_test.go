package lbhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// server is an HTTP server on a loopback socket that counts.
type server struct {
	*httptest.Server
	addr     string
	opened   atomic.Int64 // connections, ever
	open     atomic.Int64 // connections now
	arrivals atomic.Int64 // requests
}

func serve(t testing.TB, h http.HandlerFunc) *server { return start(t, h, (*httptest.Server).Start) }

// serveTLS speaks HTTP/2 too.
func serveTLS(t testing.TB, h http.HandlerFunc) *server {
	return start(t, h, func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() })
}

// startTLS1 starts a server that speaks HTTP/1 over TLS.
func startTLS1(s *httptest.Server) { s.StartTLS() }

// unencrypted starts a server that speaks HTTP/2 without TLS.
func unencrypted(s *httptest.Server) {
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
}

func start(t testing.TB, h http.HandlerFunc, begin func(*httptest.Server)) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.arrivals.Add(1)
		h(w, r)
	}))
	s.Config.ErrorLog = quiet
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.opened.Add(1)
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	begin(s.Server)
	s.addr = s.Listener.Addr().String()
	t.Cleanup(s.Close)
	return s
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(code)
	}
}

// reset takes the request and drops the connection.
func reset(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

// refused returns the address of a port that nobody listens on. It is not one that
// was just given up: systems give such ports to whoever asks next, which may be
// another test. Ports below 1024 are given to nobody. Consecutive calls return
// different addresses, up to six of them.
func refused(t testing.TB) string {
	addr := net.JoinHostPort("127.0.0.1", strconv.FormatUint(1+refusals.Add(1)%6, 10))
	_, err := net.Dial("tcp", addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "a server listens on %s", addr)
	return addr
}

var refusals atomic.Uint64

// shortages are the errors of a dial that this process itself is the cause of.
var shortages = map[syscall.Errno]string{
	syscall.EMFILE: "file descriptors", syscall.ENFILE: "file descriptors of the system",
	syscall.ENOBUFS: "network buffers", syscall.ENOMEM: "memory", syscall.EADDRNOTAVAIL: "local ports",
}

// calm is a pool set-up that leaves out what a test is not about.
var calm = evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}, SlowStart: evenkeel.SlowStart{Off: true}}

func newPool(t testing.TB, cfg evenkeel.Config, backends ...string) *evenkeel.Pool[string] {
	pool, err := evenkeel.NewPool(cfg, backends...)
	require.NoError(t, err)
	return pool
}

// first is the policy of tests that must know who is tried first: the first of
// the list that may be taken.
type first struct{ then func() }

func (p first) Choose(evenkeel.View) (int, evenkeel.Load) {
	if p.then != nil {
		p.then()
	}
	return 0, evenkeel.Load{}
}

func firstOf(pool *evenkeel.Pool[string]) *evenkeel.Dispatcher[string] {
	return evenkeel.NewDispatcher(pool, first{})
}

func newTransport(t testing.TB, lb evenkeel.Balancer[string], cfg lbhttp.Config) *lbhttp.Transport {
	tr, err := lbhttp.NewWith(lb, cfg)
	require.NoError(t, err)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// client is a client over a pool with the shortest-queue policy.
func client(t testing.TB, pool *evenkeel.Pool[string], cfg lbhttp.Config) *http.Client {
	return &http.Client{Transport: newTransport(t, sqf.New(pool), cfg)}
}

func body(t testing.TB, resp *http.Response, err error) string {
	t.Helper()
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return string(b)
}

func request(t testing.TB, ctx context.Context, method, url string, b io.Reader) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, url, b)
	require.NoError(t, err)
	return req
}

// assertIdle checks that nothing is left in flight.
func assertIdle(t testing.TB, pool *evenkeel.Pool[string]) {
	t.Helper()
	for b, s := range pool.All() {
		assert.Zero(t, s.InFlight, "in flight on %s", b)
	}
	for b := range pool.Leaving() {
		assert.Fail(t, "still in flight on a backend that was removed", b)
	}
}

func stats(t testing.TB, pool *evenkeel.Pool[string], backend string) evenkeel.Stats {
	t.Helper()
	for b, s := range pool.All() {
		if b == backend {
			return s
		}
	}
	require.Fail(t, "no such backend", backend)
	return evenkeel.Stats{}
}

// roundTripper is a base made from a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(r *http.Request, code int, b io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: b, ContentLength: -1, Request: r}
}

// slammer drops every connection as soon as it is made.
type slammer struct{ net.Listener }

func (s slammer) Accept() (net.Conn, error) {
	for {
		c, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		_ = c.Close()
	}
}
