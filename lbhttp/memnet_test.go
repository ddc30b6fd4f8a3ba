package lbhttp_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// memNet is a network in memory, for tests on virtual time.
type memNet struct {
	mu    sync.Mutex
	hosts map[string]*memListener
	dials map[string]int
	black map[string]bool // dials there get no answer
}

func newMemNet() *memNet {
	return &memNet{hosts: map[string]*memListener{}, dials: map[string]int{}, black: map[string]bool{}}
}

type memListener struct {
	addr  memAddr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

type memAddr string

func (a memAddr) Network() string { return "mem" }

func (a memAddr) String() string  { return string(a) }

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }

func (l *memListener) Addr() net.Addr { return l.addr }

func (n *memNet) listen(addr string) *memListener {
	l := &memListener{addr: memAddr(addr), conns: make(chan net.Conn), done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[addr] = l
	return l
}

// serve starts a plain HTTP server; the result stops it.
func (n *memNet) serve(addr string, h http.HandlerFunc) (stop func()) {
	s := &http.Server{Handler: h, ErrorLog: quiet}
	l := n.listen(addr)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	return func() { _ = s.Close(); <-done }
}

func (n *memNet) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dials[addr]++
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

func (dialTimeout) Error() string   { return "i/o timeout" }

func (dialTimeout) Timeout() bool   { return true }

func (dialTimeout) Temporary() bool { return true }
