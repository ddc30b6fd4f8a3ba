package lbhttp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
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

// fleet is a set of servers that record what they are asked to do, and of calls to
// them. No call has a deadline that goes by a clock.
type fleet struct {
	tls  *tls.Config
	base *http.Transport
	open atomic.Int64 // connections, all servers together

	calls atomic.Int64

	mu      sync.Mutex
	pending map[string]*expiring // by id
	posts   map[string]int       // by id: how often a handler got it
	exposed map[string]bool      // by id: a server spoilt the call, or may have been killed under it
}

func newFleet() *fleet {
	server, client := certified()
	return &fleet{
		tls:     server,
		base:    &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true},
		pending: map[string]*expiring{}, posts: map[string]int{}, exposed: map[string]bool{},
	}
}

// now is a clock that goes forward by a millisecond with each call.
func (f *fleet) now() time.Time { return time.UnixMilli(f.calls.Load()) }

// expiring is a context whose deadline passes when expire is called.
type expiring struct {
	context.Context
	done   chan struct{}
	expire func()
}

func newExpiring() *expiring {
	e := &expiring{Context: context.Background(), done: make(chan struct{})}
	e.expire = sync.OnceFunc(func() { close(e.done) })
	return e
}

func (e *expiring) Done() <-chan struct{} { return e.done }

func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// unit is one server of a fleet. It can be killed and started again.
type unit struct {
	*fleet
	proto   string // "http/1.1" or "h2c", or over TLS "https/1.1" or "h2"
	handler http.HandlerFunc
	l       lasting

	mu  sync.Mutex
	srv *http.Server
	wg  sync.WaitGroup
}

// lasting is a listener that keeps its port when a server closes it.
type lasting struct{ *net.TCPListener }

func (l lasting) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

func (f *fleet) unit(t *testing.T, proto string, h http.HandlerFunc) *unit {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u := &unit{fleet: f, proto: proto, handler: h, l: lasting{l.(*net.TCPListener)}}
	u.begin()
	t.Cleanup(func() { u.kill(); _ = u.l.TCPListener.Close() })
	return u
}

func (u *unit) url() string {
	if u.secure() {
		return "https://" + u.l.Addr().String()
	}
	return "http://" + u.l.Addr().String()
}

func (u *unit) secure() bool { return u.proto == "h2" || u.proto == "https/1.1" }

// protocols are those that a transport or a server speaks.
func protocols(proto string) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(strings.HasSuffix(proto, "/1.1"))
	p.SetHTTP2(proto == "h2")
	p.SetUnencryptedHTTP2(proto == "h2c")
	return p
}

func (u *unit) begin() {
	s := &http.Server{Handler: http.HandlerFunc(u.serve), ErrorLog: quiet, TLSConfig: u.tls.Clone(), ConnState: func(_ net.Conn, st http.ConnState) {
		switch st {
		case http.StateNew:
			u.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			u.open.Add(-1)
		}
	}}
	s.Protocols = protocols(u.proto)
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.l.SetDeadline(time.Time{})
	u.srv = s
	u.wg.Go(func() {
		if u.secure() {
			_ = s.ServeTLS(u.l, "", "")
		} else {
			_ = s.Serve(u.l)
		}
	})
}

// kill drops every connection at once.
func (u *unit) kill() {
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.srv.Close()
	u.wg.Wait()
}

// restart lets the requests under way end, as a graceful server does, and starts anew.
func (u *unit) restart() error {
	u.mu.Lock()
	err := u.srv.Shutdown(context.Background())
	u.wg.Wait()
	u.mu.Unlock()
	u.begin()
	return err
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

// expose records that a call may fail.
func (f *fleet) expose(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exposed[r.Header.Get("X-Id")] = true
}

// every gives h one request of n.
func every(n int64, h http.HandlerFunc) http.HandlerFunc {
	var count atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1)%n == 0 {
			h(w, r)
		}
	}
}

// drop breaks off without a response.
func (f *fleet) drop(_ http.ResponseWriter, r *http.Request) {
	f.expose(r)
	panic(http.ErrAbortHandler)
}

// hang gives no response until the call's deadline has passed.
func (f *fleet) hang(_ http.ResponseWriter, r *http.Request) {
	f.expose(r)
	f.mu.Lock()
	call := f.pending[r.Header.Get("X-Id")]
	f.mu.Unlock()
	call.expire()
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// half sends half a response and shuts its side of the connection.
func (f *fleet) half(w http.ResponseWriter, r *http.Request) {
	f.expose(r)
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
	_, _ = io.Copy(io.Discard, c) // until the client has seen it
	panic(http.ErrAbortHandler)
}

// run makes total calls from 64 workers, GET and POST in turns, and returns the
// errors of those that failed, by id. What comes back must be the answer to the very
// request.
func (f *fleet) run(t *testing.T, rt http.RoundTripper, total int64) map[string]error {
	failed := map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := f.calls.Add(1); i <= total; i = f.calls.Add(1) {
				if err := f.call(t, rt, i); err != nil {
					mu.Lock()
					failed[fmt.Sprint(i)] = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}

func (f *fleet) call(t *testing.T, rt http.RoundTripper, i int64) error {
	id, ctx := fmt.Sprint(i), newExpiring()
	f.mu.Lock()
	f.pending[id] = ctx
	f.mu.Unlock()
	method, sent := http.MethodGet, ""
	if i%2 == 0 {
		method, sent = http.MethodPost, strings.Repeat("x", int(i%2000))
	}
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
	}, time.Minute, 10*time.Millisecond, "connections open at the servers")
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, n := range f.posts {
		assert.Equal(t, 1, n, "POST %s was carried out %d times", id, n)
	}
}

// A call fails only if a fault met it.
func TestEndToEndUnderFaults(t *testing.T) {
	const total = 10_000
	f := newFleet()
	kills := make(chan struct{}, total)
	kill := every(150, func(_ http.ResponseWriter, r *http.Request) {
		kills <- struct{}{}
		<-r.Context().Done() // the call does not end before the server is killed
	})
	victim := f.unit(t, "h2", func(w http.ResponseWriter, r *http.Request) { f.expose(r); kill(w, r) })
	units := []*unit{
		victim,
		f.unit(t, "http/1.1", nil),
		f.unit(t, "h2", every(9, f.drop)),
		f.unit(t, "http/1.1", every(9, f.half)),
		f.unit(t, "h2", every(60, f.hang)),
		f.unit(t, "h2", nil),
		f.unit(t, "h2", every(20, f.half)),
		f.unit(t, "http/1.1", every(20, f.drop)),
	}
	var backends []string
	for _, u := range units {
		backends = append(backends, u.url())
	}
	// Backends come back after some 50 calls, so that the faults go on through the
	// whole run.
	pool := newPool(t, evenkeel.Config{Now: f.now, Ejection: evenkeel.Ejection{Base: 50 * time.Millisecond, Max: 100 * time.Millisecond}}, backends...)
	tr := newTransport(t, p2c.New(pool), lbhttp.Config{Base: f.base})

	stop, done := make(chan struct{}), make(chan int)
	go func() {
		killed := 0
		defer func() { done <- killed }()
		for {
			select {
			case <-kills:
				victim.kill()
				victim.begin()
				killed++
			case <-stop:
				return
			}
		}
	}()
	failed := f.run(t, tr, total)
	close(stop)
	killed := <-done

	t.Logf("%d of %d calls failed, %d kills", len(failed), total, killed)
	atVictim := func(try lbhttp.Try) bool { return try.Backend == victim.url() }
	for id, err := range failed {
		var e *lbhttp.Error
		met := f.exposed[id] || (errors.As(err, &e) && slices.ContainsFunc(e.Tries, atVictim))
		assert.True(t, met, "call %s failed without a fault: %v", id, err)
	}
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
				f := newFleet()
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
				assert.Empty(t, f.run(t, tr, 1000))
				failures := stats(t, pool, backends[0]).Failures
				t.Logf("%d attempts met the one that refuses", failures)
				assert.Positive(t, failures)
				f.settled(t, pool, tr)
			})
		}
	}
}
