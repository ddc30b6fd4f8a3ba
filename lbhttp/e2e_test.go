package lbhttp_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// fleet is a set of servers that note what they are asked to do.
type fleet struct {
	tls  *tls.Config
	base *http.Transport
	open atomic.Int64 // connections, all servers together

	mu    sync.Mutex
	posts map[string]int // by id: how often the handler got it
}

func newFleet(t *testing.T) *fleet {
	donor := serveTLS(t, text(""))
	return &fleet{
		tls:   &tls.Config{Certificates: donor.TLS.Certificates},
		base:  donor.Client().Transport.(*http.Transport),
		posts: map[string]int{},
	}
}

// unit is one server of a fleet. It can be killed and started again.
type unit struct {
	*fleet
	addr, proto string // "http/1.1", or "h2" over TLS
	handler     http.HandlerFunc

	mu  sync.Mutex
	srv *http.Server
	wg  sync.WaitGroup
}

func (f *fleet) unit(t *testing.T, proto string, h http.HandlerFunc) *unit {
	u := &unit{fleet: f, proto: proto, handler: h, addr: "127.0.0.1:0"}
	u.begin(t)
	t.Cleanup(u.kill)
	return u
}

func (u *unit) url() string {
	if u.proto == "h2" {
		return "https://" + u.addr
	}
	return "http://" + u.addr
}

func (u *unit) begin(t *testing.T) {
	l, err := net.Listen("tcp", u.addr)
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(u.serve), ErrorLog: quiet, TLSConfig: u.tls.Clone(), ConnState: func(_ net.Conn, st http.ConnState) {
		switch st {
		case http.StateNew:
			u.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			u.open.Add(-1)
		}
	}}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.addr, u.srv = l.Addr().String(), s
	u.wg.Go(func() {
		if u.proto == "h2" {
			_ = s.ServeTLS(l, "", "")
		} else {
			_ = s.Serve(l)
		}
	})
}

// kill drops the listener and every connection at once.
func (u *unit) kill() {
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.srv.Close()
	u.wg.Wait()
}

// serve answers a request with its id and its body.
func (u *unit) serve(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	id := r.Header.Get("X-Id")
	if r.Method == http.MethodPost {
		u.fleet.mu.Lock()
		u.posts[id]++
		u.fleet.mu.Unlock()
	}
	if u.handler != nil {
		u.handler(w, r)
	}
	fmt.Fprintf(w, "%s %s %s", r.Host, id, b)
}

// every lets h have one request of n.
func every(n int64, h http.HandlerFunc) http.HandlerFunc {
	var count atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1)%n == 0 {
			h(w, r)
		}
	}
}

func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); panic(http.ErrAbortHandler) }

// half sends half a response and shuts its side of the connection.
func half(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 2 {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
	_ = c.(*net.TCPConn).CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.Copy(io.Discard, c) // until the client has seen it
	panic(http.ErrAbortHandler)
}

// run makes total calls from 64 workers, GET and POST in turns, and returns how
// many failed. What comes back must be the answer to the very request.
func (f *fleet) run(t *testing.T, rt http.RoundTripper, total int, timeout time.Duration) (failed int64) {
	var next, bad atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(total) {
					return
				}
				if err := f.call(t, rt, i, timeout); err != nil {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return bad.Load()
}

func (f *fleet) call(t *testing.T, rt http.RoundTripper, i int64, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	method, sent := http.MethodGet, ""
	if i%2 == 0 {
		method, sent = http.MethodPost, strings.Repeat("x", int(i%2000))
	}
	id := fmt.Sprint(i)
	req, err := http.NewRequestWithContext(ctx, method, "http://example.com/", strings.NewReader(sent))
	if err != nil {
		return err
	}
	req.Header.Set("X-Id", id)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if assert.Equal(t, 200, resp.StatusCode) {
		assert.Equal(t, "example.com "+id+" "+sent, string(got))
	}
	return nil
}

// settled checks that nothing is left: no lease, no connection, and that no POST
// was carried out twice.
func (f *fleet) settled(t *testing.T, pool *evenkeel.Pool[string], tr *lbhttp.Transport) {
	t.Helper()
	assertIdle(t, pool)
	require.Eventually(t, func() bool {
		tr.CloseIdleConnections()
		return f.open.Load() == 0
	}, 30*time.Second, 10*time.Millisecond, "connections open at the servers")
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, n := range f.posts {
		assert.Equal(t, 1, n, "POST %s was carried out %d times", id, n)
	}
}

func TestEndToEndUnderFaults(t *testing.T) {
	const total = 10_000
	f := newFleet(t)
	var victim *unit
	kills := make(chan struct{}, total)
	victim = f.unit(t, "h2", every(150, func(http.ResponseWriter, *http.Request) { kills <- struct{}{} }))
	units := []*unit{
		victim,
		f.unit(t, "http/1.1", nil),
		f.unit(t, "h2", every(9, drop)),
		f.unit(t, "http/1.1", every(9, half)),
		f.unit(t, "h2", every(60, hang)),
		f.unit(t, "http/1.1", every(2, func(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Millisecond) })),
		f.unit(t, "h2", every(20, half)),
		f.unit(t, "http/1.1", every(20, drop)),
	}
	var backends []string
	for _, u := range units {
		backends = append(backends, u.url())
	}
	// Backends come back soon, so that the faults go on through the whole run.
	pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Base: 50 * time.Millisecond, Max: 100 * time.Millisecond}}, backends...)
	tr := newTransport(t, p2c.New(pool), lbhttp.Config{Base: f.base})

	stop, done := make(chan struct{}), make(chan int)
	go func() {
		killed := 0
		defer func() { done <- killed }()
		for {
			select {
			case <-kills:
				victim.kill()
				victim.begin(t)
				killed++
			case <-stop:
				return
			}
		}
	}()
	failed := f.run(t, tr, total, time.Second)
	close(stop)
	killed := <-done

	t.Logf("%d of %d calls failed, %d kills", failed, total, killed)
	assert.Less(t, failed, int64(total/10))
	assert.Positive(t, killed)
	hurt := 0
	for _, s := range pool.All() {
		if s.Failures > 0 {
			hurt++
		}
	}
	assert.GreaterOrEqual(t, hurt, 4, "the faults were met")
	f.settled(t, pool, tr)
}

// With one of five backends refusing connections no call fails.
func TestEndToEndOneOfFiveRefuses(t *testing.T) {
	for name, cfg := range map[string]evenkeel.Config{"with ejection": {}, "without": calm} {
		for _, proto := range []string{"http/1.1", "h2"} {
			t.Run(proto+" "+name, func(t *testing.T) {
				f := newFleet(t)
				scheme := "http://"
				if proto == "h2" {
					scheme = "https://"
				}
				backends := []string{scheme + refused(t)}
				for range 4 {
					backends = append(backends, f.unit(t, proto, nil).url())
				}
				pool := newPool(t, cfg, backends...)
				tr := newTransport(t, p2c.New(pool), lbhttp.Config{Base: f.base})
				assert.Zero(t, f.run(t, tr, 1000, time.Minute))
				failures := stats(t, pool, backends[0]).Failures
				t.Logf("%d attempts met the one that refuses", failures)
				assert.Positive(t, failures)
				f.settled(t, pool, tr)
			})
		}
	}
}
