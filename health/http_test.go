package health_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
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

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/health"
)

// pipes is a network in memory: serve is run for every connection that is made.
type pipes struct {
	serve  func(net.Conn)
	mu     sync.Mutex
	dialed []string
	open   atomic.Int32
	wg     sync.WaitGroup
}

func (p *pipes) dial(_ context.Context, _, address string) (net.Conn, error) {
	client, server := net.Pipe()
	p.mu.Lock()
	p.dialed = append(p.dialed, address)
	p.mu.Unlock()
	p.open.Add(1)
	p.wg.Go(func() {
		defer p.open.Add(-1)
		defer server.Close()
		p.serve(server)
	})
	return client, nil
}

// answer serves one request with what is said, byte by byte as it stands, and
// then waits for the client to close.
func answer(raw string, seen func(*http.Request)) func(net.Conn) {
	return func(conn net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		if seen != nil {
			seen(req)
		}
		if _, err := io.WriteString(conn, raw); err == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
	}
}

// first runs probe once against backend and returns its result.
func first(t *testing.T, probe health.Probe[string], backend string) health.Result {
	t.Helper()
	told := make(chan health.Result, 1)
	checker, err := health.Start(newPool(t, evenkeel.Config{}, backend), probe, health.Config{
		Jitter: -1, Interval: time.Hour, OnResult: func(r health.Result) { told <- r },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, checker.Close()) }()
	return <-told
}

const okay = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestHTTPVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		status    int
		want      string // "": passed
	}{
		{"200", okay, 0, ""},
		{"204", "HTTP/1.1 204 No Content\r\n\r\n", 0, ""},
		{"200 for 204", okay, 204, "status 200 OK, want 204"},
		{"503 wanted", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 503, ""},
		{"503", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 0, "status 503 Service Unavailable, want 200 to 299"},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/login\r\nContent-Length: 0\r\n\r\n", 0,
			`status 302 Found, want 200 to 299; the redirect to "http://elsewhere/login" is not followed`},
		{"redirect wanted", "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n", 302, ""},
		{"103 first", "HTTP/1.1 103 Early Hints\r\n\r\n" + okay, 0, ""},
		{"103 only", "HTTP/1.1 103 Early Hints\r\n\r\n", 0, "timeout of 1s"},
		{"101 wanted", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", 101, ""},
		{"endless body", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<20), 0, ""},
		{"body that stops coming", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", 0, "timeout of 1s"},
		{"no answer", "", 0, "timeout of 1s"},
		{"endless header", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 100_000), 0, "header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := &pipes{serve: answer(c.raw, nil)}
				r := first(t, health.HTTP[string]{Status: c.status, Dial: network.dial}, "h:1")
				if c.want == "" {
					require.NoError(t, r.Err)
				} else {
					require.ErrorContains(t, r.Err, c.want)
					require.ErrorContains(t, r.Err, "health: probe of h:1: ")
				}
				network.wg.Wait()
				assert.Zero(t, network.open.Load(), "no connection is kept")
			})
		})
	}
}

// What a probe asks, of which address, by which name.
func TestHTTPRequest(t *testing.T) {
	for _, c := range []struct {
		backend string
		probe   health.HTTP[string]
		dial    string
		uri     string
		host    string
	}{
		{backend: "h:1", dial: "h:1", uri: "/", host: "h:1"},
		{backend: "h", dial: "h:80", uri: "/", host: "h"},
		{backend: "[::1]:8080", dial: "[::1]:8080", uri: "/", host: "[::1]:8080"},
		{backend: "[::1]", dial: "[::1]:80", uri: "/", host: "[::1]"},
		{backend: "[fe80::1%eth0]:8080", dial: "[fe80::1%eth0]:8080", uri: "/", host: "[fe80::1]:8080"},
		{backend: "http://h", dial: "h:80", uri: "/", host: "h"},
		{backend: "http://h:1/", probe: health.HTTP[string]{Path: "/healthz"}, dial: "h:1", uri: "/healthz", host: "h:1"},
		{backend: "http://h:1/v2", probe: health.HTTP[string]{Path: "/healthz?full=1"}, dial: "h:1", uri: "/v2/healthz?full=1", host: "h:1"},
		{backend: "http://h:1/a%2Fb/", probe: health.HTTP[string]{Path: "/z"}, dial: "h:1", uri: "/a%2Fb/z", host: "h:1"},
		{backend: "10.0.0.1:80", probe: health.HTTP[string]{Host: "svc.test"}, dial: "10.0.0.1:80", uri: "/", host: "svc.test"},
		{backend: "10.0.0.1:80", probe: health.HTTP[string]{Host: "Svc.test:8080"}, dial: "10.0.0.1:80", uri: "/", host: "Svc.test:8080"},
		{backend: "seven", probe: health.HTTP[string]{Address: func(b string) string { return b + ".test:7" }}, dial: "seven.test:7", uri: "/", host: "seven.test:7"},
	} {
		t.Run(c.backend, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got *http.Request
				network := &pipes{serve: answer(okay, func(r *http.Request) { got = r })}
				c.probe.Dial = network.dial
				require.NoError(t, first(t, c.probe, c.backend).Err)
				network.wg.Wait()
				assert.Equal(t, []string{c.dial}, network.dialed)
				assert.Equal(t, http.MethodGet, got.Method)
				assert.Equal(t, c.uri, got.RequestURI)
				assert.Equal(t, c.host, got.Host)
				assert.Equal(t, "evenkeel-health", got.UserAgent())
				assert.True(t, got.Close, "the server is told that the connection will not be used again")
			})
		})
	}
}

func TestHTTPHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got http.Header
		network := &pipes{serve: answer(okay, func(r *http.Request) { got = r.Header })}
		header := http.Header{"Authorization": {"Bearer x"}, "User-Agent": {"mine"}}
		require.NoError(t, first(t, health.HTTP[string]{Dial: network.dial, Header: header}, "h:1").Err)
		network.wg.Wait()
		assert.Equal(t, http.Header{"Authorization": {"Bearer x"}, "User-Agent": {"mine"}, "Connection": {"close"}}, got)
		assert.Len(t, header, 2, "the caller's own is not touched")
	})
}

func TestBadProbesAreRefusedAtTheDoor(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "a")
	for _, c := range []struct {
		probe health.HTTP[string]
		want  string
	}{
		{health.HTTP[string]{Path: "healthz"}, `health.HTTP.Path: "healthz" is not the path of a URL: it must begin with / and hold no #`},
		{health.HTTP[string]{Path: "/a#b"}, "health.HTTP.Path"},
		{health.HTTP[string]{Path: "http://h/"}, "health.HTTP.Path"},
		{health.HTTP[string]{Path: "/%zz"}, "health.HTTP.Path"},
		{health.HTTP[string]{Status: 99}, "health.HTTP.Status: 99 is not within 100 to 599"},
		{health.HTTP[string]{Status: 600}, "health.HTTP.Status: 600 is not within 100 to 599"},
		{health.HTTP[string]{Host: "http://h"}, `health.HTTP.Host: "http://h" is neither a host nor host:port`},
		{health.HTTP[string]{Host: "a b"}, "health.HTTP.Host"},
		{health.HTTP[string]{Header: http.Header{"X": {"a\nb"}}}, "health.HTTP.Header"},
		{health.HTTP[string]{Header: http.Header{"X Y": {"a"}}}, "health.HTTP.Header"},
	} {
		_, err := health.Start(pool, c.probe, health.Config{})
		require.ErrorIs(t, err, evenkeel.ErrBadConfig, c.want)
		assert.ErrorContains(t, err, c.want)
	}
	numbers, err := evenkeel.NewPool(evenkeel.Config{}, 1, 2)
	require.NoError(t, err)
	_, err = health.Start(numbers, health.HTTP[int]{}, health.Config{})
	require.ErrorContains(t, err, "health.HTTP.Address: a backend of type int is no address; set the function that gives it")
	_, err = health.Start(numbers, health.TCP[int]{}, health.Config{})
	require.ErrorContains(t, err, "health.TCP.Address: a backend of type int is no address")
}

// A dial that the network swallows ends with its probe, and so does a handshake
// that gets no answer: nothing of them is left when Close has returned.
func TestNothingOutlivesItsProbe(t *testing.T) {
	for _, secure := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var dialling, most atomic.Int32
			network := &pipes{serve: func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }}
			dial := func(ctx context.Context, n, address string) (net.Conn, error) {
				if address == "mute:443" {
					return network.dial(ctx, n, address)
				}
				most.Store(max(most.Load(), dialling.Add(1)))
				defer dialling.Add(-1)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			backend := "swallowed:443"
			if secure {
				backend = "mute:443"
			}
			pool := newPool(t, evenkeel.Config{}, backend)
			checker, err := health.Start(pool, health.HTTP[string]{Dial: dial, TLS: &tls.Config{}}, health.Config{Jitter: -1})
			require.NoError(t, err)
			time.Sleep(62 * time.Second) // no probe is under way
			assert.Equal(t, evenkeel.StateEjectedByHealth, state(pool, backend))
			assert.Zero(t, dialling.Load())
			assert.Zero(t, network.open.Load())
			time.Sleep(3500 * time.Millisecond) // one is
			assert.Equal(t, int32(1), dialling.Load()+network.open.Load())
			require.NoError(t, checker.Close())
			synctest.Wait()
			assert.Zero(t, dialling.Load())
			assert.LessOrEqual(t, most.Load(), int32(1))
			network.wg.Wait()
			assert.Zero(t, network.open.Load())
		})
	}
}

func TestHTTPOverLoopback(t *testing.T) {
	var bad atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if bad.Load() || r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	healthy := strings.TrimPrefix(server.URL, "http://")
	events := make(chan evenkeel.Event, 100)
	pool := newPool(t, evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		if e.Kind == evenkeel.EventState {
			events <- e
		}
	}}, healthy, gone.URL)
	checker, err := health.Start(pool, health.HTTP[string]{Path: "/healthz"}, health.Config{
		Interval: 5 * time.Millisecond, Timeout: 5 * time.Second, Down: 2, Up: 2,
	})
	require.NoError(t, err)
	e := <-events
	assert.Equal(t, gone.URL, e.Backend)
	assert.Equal(t, evenkeel.StateEjectedByHealth, e.To)
	require.ErrorContains(t, e.Cause, "refused")
	bad.Store(true)
	e = <-events
	assert.Equal(t, healthy, e.Backend)
	require.ErrorContains(t, e.Cause, "status 500 Internal Server Error")
	bad.Store(false)
	e = <-events
	assert.Equal(t, healthy, e.Backend)
	assert.NotEqual(t, evenkeel.StateEjectedByHealth, e.To)
	require.NoError(t, checker.Close())
}

// By TLS, over HTTP/1.1 and HTTP/2, with the certificate checked against the
// backend's own name, or Host's where that is set, or TLS.ServerName's.
func TestHTTPSOverLoopback(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		var proto atomic.Value
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto.Store(r.Proto) }))
		server.EnableHTTP2 = h2
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate()) // for example.com and 127.0.0.1
		address := strings.TrimPrefix(server.URL, "https://")
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)

		require.NoError(t, first(t, health.HTTP[string]{TLS: &tls.Config{RootCAs: roots}}, address).Err)
		assert.Equal(t, map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2], proto.Load())
		require.NoError(t, first(t, health.HTTP[string]{TLS: &tls.Config{RootCAs: roots}}, server.URL+"/v2").Err)
		require.NoError(t, first(t, health.HTTP[string]{TLS: &tls.Config{RootCAs: roots}, Host: "example.com:" + port}, address).Err)
		require.ErrorContains(t, first(t, health.HTTP[string]{TLS: &tls.Config{RootCAs: roots}, Host: "other.test"}, address).Err, "other.test")
		require.NoError(t, first(t, health.HTTP[string]{TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}, Host: "other.test"}, address).Err)
		require.ErrorContains(t, first(t, health.HTTP[string]{}, server.URL).Err, "certificate")
		server.Close()
	}
}

func TestTCPOverLoopback(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	for _, form := range []string{address, "http://" + address, "https://" + address + "/x"} {
		require.NoError(t, first(t, health.TCP[string]{}, form).Err, form)
	}
	require.NoError(t, listener.Close())
	require.ErrorContains(t, first(t, health.TCP[string]{}, address).Err, "refused")
}

func TestTCPClosesWhatItDialled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{serve: func(conn net.Conn) {
			data, err := io.ReadAll(conn)
			assert.Empty(t, data, "it sends nothing")
			assert.NoError(t, err)
		}}
		pool := newPool(t, evenkeel.Config{}, "h:1", "https://h")
		checker, err := health.Start(pool, health.TCP[string]{Dial: network.dial}, steady)
		require.NoError(t, err)
		time.Sleep(10*time.Second - time.Millisecond)
		require.NoError(t, checker.Close())
		network.wg.Wait()
		assert.Len(t, network.dialed, 20)
		assert.Contains(t, network.dialed, "h:443")
		assert.Equal(t, evenkeel.StateActive, state(pool, "h:1"))
	})
}

func TestHTTPLeavesNoConnectionOverLoopback(t *testing.T) {
	states := make(chan http.ConnState, 1000)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("x", 1<<20))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) { states <- s }
	server.Start()
	defer server.Close()
	for range 5 {
		require.NoError(t, first(t, health.HTTP[string]{}, server.URL).Err, "a body that is too long is cut, not failed")
	}
	for closed := 0; closed < 5; {
		if <-states == http.StateClosed {
			closed++
		}
	}
}
