package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running starts a proxy over backends, and returns its URL and its log.
func running(t *testing.T, h2c bool, backends ...string) (url string, log *lines, stop func() error) {
	log = &lines{}
	p, err := newProxy(slog.New(slog.NewTextHandler(log, nil)), h2c, backends...)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, p, time.Minute) }()
	stop = sync.OnceValue(func() error { cancel(); defer p.transport.CloseIdleConnections(); return <-ended })
	t.Cleanup(func() { _ = stop() })
	return "http://" + l.Addr().String(), log, stop
}

func backend(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func get(t *testing.T, url string) (int, string, http.Header) {
	rt := &http.Transport{}
	defer rt.CloseIdleConnections()
	req, err := http.NewRequest("GET", url, nil)
	require.NoError(t, err)
	req.Host = "shop.example"
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body), resp.Header
}

func TestProxyBalances(t *testing.T) {
	hits := map[string]int{}
	var backends []string
	for _, name := range []string{"a", "b", "c"} {
		backends = append(backends, backend(t, func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, name, " ", r.Host, " ", r.Header.Get("X-Forwarded-Host"), " ", r.URL)
		}))
	}
	url, log, stop := running(t, false, backends...)
	for range 300 {
		_, body, _ := get(t, url+"/items?q=1")
		assert.Equal(t, " shop.example shop.example /items?q=1", body[1:])
		hits[body[:1]]++
	}
	for _, name := range []string{"a", "b", "c"} {
		assert.InDelta(t, 100, hits[name], 60, name) // over seven standard deviations of a random choice
	}
	require.NoError(t, stop())
	assert.Contains(t, log.String(), "method=GET path=/items status=200 backend=127.0.0.1:")
	assert.Contains(t, log.String(), "attempts=1")
}

func TestProxyAnswersForBackends(t *testing.T) {
	refusing := httptest.NewServer(nil)
	refusing.Close()
	url, log, stop := running(t, false, refusing.Listener.Addr().String())
	code, body, _ := get(t, url)
	assert.Equal(t, 502, code)
	assert.Equal(t, "no backend answered\n", body)
	require.NoError(t, stop())
	assert.Contains(t, log.String(), "status=502")
	assert.Contains(t, log.String(), "connection refused")

	for want, err := range map[int]error{
		503: fmt.Errorf("wrapped: %w", evenkeel.ErrOverloaded),
		504: context.DeadlineExceeded,
	} {
		w := httptest.NewRecorder()
		fail(w, httptest.NewRequest("GET", "/", nil), err)
		assert.Equal(t, want, w.Code)
	}
}

// A connection that is upgraded carries both directions.
func TestProxyPassesUpgrades(t *testing.T) {
	url, _, _ := running(t, false, backend(t, func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, rw)
	}))
	c, err := net.Dial("tcp", url[len("http://"):])
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	for _, word := range []string{"hello", "again"} {
		_, err = io.WriteString(c, word)
		require.NoError(t, err)
		got := make([]byte, len(word))
		_, err = io.ReadFull(r, got)
		require.NoError(t, err)
		assert.Equal(t, word, string(got))
	}
}

// Events reach the client while the stream goes on.
func TestProxyPassesEventsAtOnce(t *testing.T) {
	next := make(chan struct{})
	url, _, _ := running(t, false, backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	rt := &http.Transport{}
	defer rt.CloseIdleConnections()
	resp, err := (&http.Client{Transport: rt}).Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	for i := range 3 {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("data: %d\n", i), line)
		_, err = r.ReadString('\n')
		require.NoError(t, err)
		next <- struct{}{}
	}
}

// What gRPC needs: HTTP/2 without TLS on both sides, both directions at once, and
// trailers.
func TestProxyPassesHTTP2Streams(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		w.(http.Flusher).Flush()
		buf := make([]byte, 64)
		for {
			n, err := r.Body.Read(buf)
			_, _ = w.Write(buf[:n])
			w.(http.Flusher).Flush()
			if err != nil {
				break
			}
		}
		w.Header().Set("Grpc-Status", "0 "+r.Proto)
	}))
	s.Config.Protocols = protocols
	s.Start()
	defer s.Close()
	url, _, _ := running(t, true, s.Listener.Addr().String())
	rt := &http.Transport{Protocols: protocols}
	defer rt.CloseIdleConnections()
	in, out := io.Pipe()
	req, err := http.NewRequest("POST", url+"/pkg.Service/Method", in)
	require.NoError(t, err)
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	for _, word := range []string{"hello", "again"} {
		_, err := io.WriteString(out, word)
		require.NoError(t, err)
		got := make([]byte, len(word))
		_, err = io.ReadFull(resp.Body, got)
		require.NoError(t, err)
		assert.Equal(t, word, string(got))
	}
	require.NoError(t, out.Close())
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "0 HTTP/2.0", resp.Trailer.Get("Grpc-Status"))
}

// A request under way is finished before the proxy stops.
func TestProxyStopsGracefully(t *testing.T) {
	reached, finish := make(chan struct{}), make(chan struct{})
	url, _, stop := running(t, false, backend(t, func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-finish
		_, _ = io.WriteString(w, "done")
	}))
	got := make(chan string, 1)
	go func() { _, body, _ := get(t, url); got <- body }()
	<-reached
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(finish)
	assert.Equal(t, "done", <-got)
	assert.NoError(t, <-stopped)
}

func TestProxyRefusesBadBackends(t *testing.T) {
	_, err := newProxy(slog.Default(), false, "dns:///orders")
	assert.ErrorIs(t, err, evenkeel.ErrBadBackend)
	_, err = newProxy(slog.Default(), false, "a:80", "a:80")
	assert.ErrorIs(t, err, evenkeel.ErrDuplicate)
}
