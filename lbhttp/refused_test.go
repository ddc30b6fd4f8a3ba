package lbhttp_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

// Frame types and the like of HTTP/2 (RFC 9113, 6).
const (
	frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7

	noError, refusedStream = 0, 7
)

// rawHTTP2 is an HTTP/2 server that only a test would want.
type rawHTTP2 struct {
	net.Listener
	opened  atomic.Int64 // connections
	streams atomic.Int64
	secure  *tls.Config // nil: without TLS

	// onStream answers the request on a stream. If it returns false the connection is
	// closed.
	onStream func(c net.Conn, id uint32) bool
}

// startRaw starts a raw server, which the end of the test stops.
func startRaw(t testing.TB, secure *tls.Config, onStream func(c net.Conn, id uint32) bool) *rawHTTP2 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &rawHTTP2{Listener: l, onStream: onStream}
	if secure != nil {
		s.secure = secure.Clone()
		s.secure.NextProtos = []string{"h2"}
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.opened.Add(1)
			context.AfterFunc(ctx, func() { _ = c.Close() })
			wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); stop(); wg.Wait() })
	return s
}

func (s *rawHTTP2) url() string {
	if s.secure == nil {
		return "http://" + s.Addr().String()
	}
	return "https://" + s.Addr().String()
}

func (s *rawHTTP2) serve(c net.Conn) {
	if s.secure != nil {
		c = tls.Server(c, s.secure)
	}
	defer c.Close()
	if _, err := io.CopyN(io.Discard, c, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame(c, frameSettings, 0, 0)
	for {
		var head [9]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, c, size); err != nil {
			return
		}
		switch head[3] {
		case frameSettings:
			if head[4] == 0 {
				frame(c, frameSettings, 1, 0)
			}
		case frameHeaders:
			s.streams.Add(1)
			if !s.onStream(c, binary.BigEndian.Uint32(head[5:])) {
				return
			}
		}
	}
}

// frame writes a frame whose payload is a sequence of 32-bit numbers.
func frame(c net.Conn, kind, flags byte, stream uint32, payload ...uint32) {
	b := []byte{0, 0, byte(4 * len(payload)), kind, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	for _, p := range payload {
		b = binary.BigEndian.AppendUint32(b, p)
	}
	_, _ = c.Write(b)
}

func refuseStream(c net.Conn, id uint32) bool {
	frame(c, frameReset, 0, id, refusedStream)
	return true
}

func goAway(c net.Conn, _ uint32) bool {
	frame(c, frameGoAway, 0, 0, 0, noError)
	return false
}

// over runs a test over TLS and without.
func over(t *testing.T, f func(t *testing.T, server *tls.Config, base *http.Transport)) {
	server, trusting := certified()
	t.Run("h2", func(t *testing.T) {
		f(t, server, &http.Transport{TLSClientConfig: trusting, ForceAttemptHTTP2: true})
	})
	t.Run("h2c", func(t *testing.T) {
		base := &http.Transport{Protocols: new(http.Protocols)}
		base.Protocols.SetUnencryptedHTTP2(true)
		f(t, nil, base)
	})
}

// well starts a server that works and speaks HTTP/2, over TLS if it is given.
func well(t *testing.T, secure *tls.Config) *server {
	if secure != nil {
		return serveTLS(t, echo)
	}
	return start(t, echo, unencrypted)
}

func TestF189RefusedStreamsGoElsewhere(t *testing.T) {
	for name, refuse := range map[string]func(net.Conn, uint32) bool{"REFUSED_STREAM": refuseStream, "GOAWAY": goAway} {
		t.Run(name, func(t *testing.T) {
			over(t, func(t *testing.T, secure *tls.Config, base *http.Transport) {
				a, b := startRaw(t, secure, refuse), well(t, secure)
				pool := newPool(t, calm, a.url(), b.URL)
				for _, wrapped := range []bool{false, true} {
					a.streams.Store(0)
					cfg := lbhttp.Config{Base: base}
					if wrapped {
						conns := lbhttp.NewConns(base)
						t.Cleanup(conns.CloseIdleConnections)
						cfg.Base = roundTripper(conns.RoundTrip)
					}
					tr := newTransport(t, firstOf(pool), cfg)
					for _, method := range []string{"GET", "POST"} {
						resp, err := tr.RoundTrip(request(t, t.Context(), method, "http://example.com/", strings.NewReader("payload")))
						assert.Equal(t, "payload", body(t, resp, err))
						resp, err = tr.RoundTrip(request(t, t.Context(), method, "http://example.com/", nil))
						assert.Empty(t, body(t, resp, err))
					}
					assert.EqualValues(t, 4, a.streams.Load(), "one try each")
					assert.Equal(t, map[lbhttp.Reason]uint64{lbhttp.ReasonRefused: 4}, tr.Stats().Retries)
				}
				assert.EqualValues(t, 8, stats(t, pool, a.url()).Failures)
				assertIdle(t, pool)
			})
		})
	}
}

// With nobody else to ask, one that has refused a stream is asked again, as
// http.Transport would.
func TestRefusedStreamOfTheOnlyBackend(t *testing.T) {
	over(t, func(t *testing.T, secure *tls.Config, base *http.Transport) {
		a := startRaw(t, secure, refuseStream)
		pool := newPool(t, calm, a.url())
		_, err := newTransport(t, firstOf(pool), lbhttp.Config{Base: base}).
			RoundTrip(request(t, t.Context(), "POST", "http://example.com/", nil))
		require.ErrorContains(t, err, "the server refused the HTTP/2 stream")
		require.ErrorContains(t, err, "3 attempts were made")
		assert.EqualValues(t, 3, a.streams.Load())
		assertIdle(t, pool)
	})
}

// A base that has a second try finds nobody there: the first one was not acted on.
func TestF188GoAwayAndThenNobodyListens(t *testing.T) {
	over(t, func(t *testing.T, secure *tls.Config, base *http.Transport) {
		var a *rawHTTP2
		ready := make(chan struct{})
		a = startRaw(t, secure, func(c net.Conn, id uint32) bool {
			<-ready
			_ = a.Close()
			return goAway(c, id)
		})
		close(ready)
		b := well(t, secure)
		pool := newPool(t, calm, a.url(), b.URL)
		resp, err := newTransport(t, firstOf(pool), lbhttp.Config{Base: base}).
			RoundTrip(request(t, t.Context(), "POST", "http://example.com/", strings.NewReader("payload")))
		assert.Equal(t, "payload", body(t, resp, err))
		assertIdle(t, pool)
	})
}

// stale is a connection whose writes fail once it has gone stale.
type stale struct {
	net.Conn
	gone *atomic.Bool
}

func (s stale) Write(p []byte) (int, error) {
	if s.gone.Load() {
		return 0, net.ErrClosed
	}
	return s.Conn.Write(p)
}

// The base replaces a stale connection by itself, and is refused: the request has
// not been sent, although it once had a connection.
func TestF188StaleConnectionOverTLS(t *testing.T) {
	for _, method := range []string{"POST", "PATCH"} {
		a, b := start(t, echo, startTLS1), start(t, echo, startTLS1)
		var gone atomic.Bool
		base := a.Client().Transport.(*http.Transport).Clone()
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == a.addr && gone.Load() {
				addr = refused(t)
			}
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil || addr != a.addr {
				return c, err
			}
			return stale{c, &gone}, nil
		}
		pool := newPool(t, calm, a.URL, b.URL)
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base})
		for range 2 {
			resp, err := tr.RoundTrip(request(t, t.Context(), method, "https://example.com/", strings.NewReader("payload")))
			assert.Equal(t, "payload", body(t, resp, err), method)
			gone.Store(true)
		}
		assert.EqualValues(t, 1, a.arrivals.Load())
		assert.Equal(t, map[lbhttp.Reason]uint64{lbhttp.ReasonUnsent: 1}, tr.Stats().Retries)
		assertIdle(t, pool)
	}
}

// F183: what this process is short of is nobody else's fault.
func TestF183ShortageOfThisProcess(t *testing.T) {
	for no, what := range shortages {
		base := &http.Transport{DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: no}
		}}
		pool := newPool(t, evenkeel.Config{}, "a:80", "b:80")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base})
		for range 40 {
			_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
			require.ErrorIs(t, err, no)
			assert.ErrorContains(t, err, "this process is short of "+what)
		}
		for b, s := range pool.All() {
			assert.Equal(t, evenkeel.StateActive, s.State, b)
			assert.Zero(t, s.Failures, b)
		}
		assertIdle(t, pool)
	}
}
