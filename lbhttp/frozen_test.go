package lbhttp_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// frozen is a connection that can stop to carry anything, without an error.
type frozen struct {
	net.Conn
	ice  *atomic.Bool
	done chan struct{}
	once sync.Once
}

func (f *frozen) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if f.ice.Load() {
		<-f.done
		return 0, net.ErrClosed
	}
	return n, err
}

func (f *frozen) Write(p []byte) (int, error) {
	if f.ice.Load() {
		return len(p), nil
	}
	return f.Conn.Write(p)
}

func (f *frozen) Close() error { f.once.Do(func() { close(f.done) }); return f.Conn.Close() }

func TestF129FrozenConnectionIsNotUsedAgain(t *testing.T) {
	serverTLS, clientTLS := certified()
	for _, proto := range []string{"h2", "http/1.1"} {
		synctest.Test(t, func(t *testing.T) {
			n := newMemNet()
			s := &http.Server{Handler: text("hello"), ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: serverTLS.Certificates, NextProtos: []string{proto}}}
			l := n.listen("a:443")
			served := make(chan struct{})
			go func() { defer close(served); _ = s.ServeTLS(l, "", "") }()
			var mu sync.Mutex
			var conns []*frozen
			base := n.base(0)
			base.TLSClientConfig = clientTLS
			base.ForceAttemptHTTP2 = true
			dial := base.DialContext
			base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := dial(ctx, network, addr)
				if err != nil {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				f := &frozen{Conn: c, ice: new(atomic.Bool), done: make(chan struct{})}
				conns = append(conns, f)
				return f, nil
			}
			pool := newPool(t, calm, "a")
			tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
			get := func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				resp, err := tr.RoundTrip(request(t, ctx, "GET", "https://example.com/", nil))
				if err == nil {
					body(t, resp, nil)
				}
				return err
			}
			require.NoError(t, get())
			require.NoError(t, get())
			require.Len(t, conns, 1)
			conns[0].ice.Store(true)
			require.ErrorIs(t, get(), context.DeadlineExceeded)
			require.NoError(t, get(), "the next call has a new connection")
			require.NoError(t, get())
			assert.Len(t, conns, 2)
			assertIdle(t, pool)
			tr.CloseIdleConnections()
			time.Sleep(2 * time.Minute) // the frozen one goes when its time is up
			assert.NoError(t, s.Close())
			<-served
		})
	}
}

// A whole host that freezes is ejected, though its calls only run into their
// callers' deadlines; when it thaws its trial goes over a new connection.
func TestF129FrozenHostIsEjectedAndComesBack(t *testing.T) {
	serverTLS, clientTLS := certified()
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		var served sync.WaitGroup
		var servers []*http.Server
		for _, h := range []string{"a:443", "b:443"} {
			s := &http.Server{Handler: text("hello"), ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: serverTLS.Certificates}}
			l := n.listen(h)
			served.Go(func() { _ = s.ServeTLS(l, "", "") })
			servers = append(servers, s)
		}
		var ice atomic.Pointer[atomic.Bool] // over the connections to a that are made from now on
		ice.Store(new(atomic.Bool))
		base := n.base(0)
		base.TLSClientConfig = clientTLS
		base.ForceAttemptHTTP2 = true
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil || addr != "a:443" {
				return c, err
			}
			return &frozen{Conn: c, ice: ice.Load(), done: make(chan struct{})}, nil
		}
		// Without slowness, which would keep calls from it before it is ejected.
		pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}, Slowness: evenkeel.Slowness{Off: true}}, "a", "b")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
		get := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			resp, err := tr.RoundTrip(request(t, ctx, "GET", "https://example.com/", nil))
			if err == nil {
				body(t, resp, nil)
			}
			return err
		}
		for range 20 {
			require.NoError(t, get())
		}
		ice.Load().Store(true)
		failed := 0
		for range 300 {
			if get() != nil {
				failed++
			}
			if stats(t, pool, "a").State == evenkeel.StateEjectedByOutcome {
				break
			}
		}
		st := stats(t, pool, "a")
		require.Equal(t, evenkeel.StateEjectedByOutcome, st.State, "after %d failed calls", failed)
		ice.Store(new(atomic.Bool)) // what is frozen stays so; what is made from now on is not
		time.Sleep(time.Until(st.Until))
		for range 50 {
			require.NoError(t, get(), "the trial too")
		}
		assert.Equal(t, evenkeel.StateActive, stats(t, pool, "a").State)
		assertIdle(t, pool)
		tr.CloseIdleConnections()
		time.Sleep(2 * time.Minute)
		for _, s := range servers {
			_ = s.Close()
		}
		served.Wait()
	})
}
