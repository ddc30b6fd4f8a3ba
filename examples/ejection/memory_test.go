package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// memory is a network without an operating system, on which virtual time passes.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*listener // by address
}

func newMemory() *memory { return &memory{listeners: map[string]*listener{}} }

func (m *memory) Listen() (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &listener{
		address: address(fmt.Sprintf("server%d:80", len(m.listeners)+1)),
		conns:   make(chan net.Conn), closed: make(chan struct{}),
	}
	m.listeners[l.address.String()] = l
	return l, nil
}

func (m *memory) DialContext(ctx context.Context, _, to string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[to]
	m.mu.Unlock()
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	address address
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Addr() net.Addr { return l.address }

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }
