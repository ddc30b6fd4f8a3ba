package lbhttp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// memNet is a network in memory, for tests on virtual time.
type memNet struct {
	mu    sync.Mutex
	hosts map[string]*memListener
	black map[string]bool // dials there get no answer
}

func newMemNet() *memNet {
	return &memNet{hosts: map[string]*memListener{}, black: map[string]bool{}}
}

type memListener struct {
	addr  memAddr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

type memAddr string

func (a memAddr) Network() string { return "mem" }

func (a memAddr) String() string { return string(a) }

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error { l.once.Do(func() { close(l.done) }); return nil }

func (l *memListener) Addr() net.Addr { return l.addr }

func (n *memNet) listen(addr string) *memListener {
	l := &memListener{addr: memAddr(addr), conns: make(chan net.Conn), done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr] = l
	return l
}

// memServer is an HTTP server on a memNet that counts.
type memServer struct {
	http.Server
	opened atomic.Int64 // connections, ever
	open   atomic.Int64 // connections now
	calls  atomic.Int64 // requests

	done chan struct{}
}

// start starts a server, over TLS if cfg is not nil; then it speaks HTTP/2 too,
// unless cfg has protocols of its own. The end of the test stops it.
func (n *memNet) start(t testing.TB, addr string, h http.HandlerFunc, cfg *tls.Config) *memServer {
	s := &memServer{done: make(chan struct{})}
	s.ErrorLog, s.TLSConfig = quiet, cfg.Clone()
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.calls.Add(1); h(w, r) })
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.opened.Add(1)
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	l := n.listen(addr)
	go func() {
		defer close(s.done)
		if cfg != nil {
			_ = s.ServeTLS(l, "", "")
		} else {
			_ = s.Serve(l)
		}
	}()
	t.Cleanup(s.stop)
	return s
}

func (s *memServer) stop() { _ = s.Close(); <-s.done }

// certified returns the TLS set-up of a server for example.com, and that of a client
// that trusts it. It must be called outside of a bubble of synctest.
func certified() (server, client *tls.Config) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}, s.Client().Transport.(*http.Transport).TLSClientConfig
}

func (n *memNet) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l, black := n.hosts[addr], n.black[addr]
	n.mu.Unlock()
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: memAddr(addr), Err: err}
	}
	if black {
		<-ctx.Done()
		return fail(ctx.Err())
	}
	if l == nil {
		return fail(syscall.ECONNREFUSED)
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return fail(syscall.ECONNREFUSED)
	case <-ctx.Done():
		return fail(ctx.Err())
	}
}

// base is a transport over the network whose dials take at most timeout.
func (n *memNet) base(timeout time.Duration) *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 1000, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, timeout, errDialTimeout)
			defer cancel()
		}
		c, err := n.dial(ctx, network, addr)
		if err != nil && errors.Is(context.Cause(ctx), errDialTimeout) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: memAddr(addr), Err: errDialTimeout}
		}
		return c, err
	}}
}

var errDialTimeout error = dialTimeout{}

type dialTimeout struct{}

func (dialTimeout) Error() string { return "i/o timeout" }

func (dialTimeout) Timeout() bool { return true }

func (dialTimeout) Temporary() bool { return true }
