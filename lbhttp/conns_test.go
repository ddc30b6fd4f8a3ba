package lbhttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestF117IdleConnectionsAreClosed(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		servers := []*server{serve(text("a")), serve(text("b")), serve(text("c"))}
		pool := newPool(t, calm, servers[0].URL, servers[1].URL, servers[2].URL)
		c := client(t, pool, lbhttp.Config{Base: servers[0].Client().Transport})
		for _, s := range servers {
			require.NoError(t, pool.Replace(s.URL))
			body(t, must(c.Get("http://example.com/")), nil)
		}
		require.NoError(t, pool.Replace())
		for _, s := range servers {
			assert.EqualValues(t, 1, s.open.Load())
		}
		require.Eventually(t, func() bool {
			c.CloseIdleConnections() // HTTP/2 streams end a moment after their bodies
			return servers[0].open.Load()+servers[1].open.Load()+servers[2].open.Load() == 0
		}, 10*time.Second, 5*time.Millisecond, "of backends that have left, too")
	})

	called := 0
	with := struct {
		roundTripper
		closer
	}{nil, func() { called++ }}
	newTransport(t, sqf.New(newPool(t, calm)), lbhttp.Config{Base: with}).CloseIdleConnections()
	assert.Equal(t, 1, called, "it reaches the base")
	newTransport(t, sqf.New(newPool(t, calm)), lbhttp.Config{Base: roundTripper(nil)}).CloseIdleConnections() // one that has no such method
}

type closer func()

func (c closer) CloseIdleConnections() { c() }

// Addresses come and go for hours, under a base that keeps idle connections for
// ever: connections to those that have left do not pile up.
func TestChurningAddressesLeaveNoConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		var open atomic.Int64
		pool := newPool(t, calm)
		base := n.base(0)
		base.IdleConnTimeout = 1000 * time.Hour
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
		for i := range 300 {
			addr := fmt.Sprintf("h%d:80", i)
			s := &http.Server{Handler: text("x"), ErrorLog: quiet, ConnState: func(_ net.Conn, st http.ConnState) {
				switch st {
				case http.StateNew:
					open.Add(1)
				case http.StateClosed:
					open.Add(-1)
				}
			}}
			l := n.listen(addr)
			go func() { _ = s.Serve(l) }()
			defer s.Close()
			require.NoError(t, pool.Replace(addr))
			for range 3 {
				resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
				body(t, resp, err)
			}
			time.Sleep(20 * time.Second)
			require.LessOrEqual(t, open.Load(), int64(8), "after %d addresses", i+1)
		}
		tr.CloseIdleConnections()
		synctest.Wait()
		assert.Zero(t, open.Load())
	})
}

// Names may be chosen by strangers, where requests come through a proxy.
func TestNamesAreBounded(t *testing.T) {
	s := serve(t, text("x"))
	c := client(t, newPool(t, calm, s.addr), lbhttp.Config{})
	for i := range 200 {
		body(t, must(c.Get(fmt.Sprintf("http://name%d/", i))), nil)
	}
	require.Eventually(t, func() bool { return s.open.Load() <= 64 }, 10*time.Second, time.Millisecond)
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	opened := func(use func(s *server) *http.Client) int64 {
		var bursts sync.WaitGroup
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { bursts.Done(); bursts.Wait() }) // all 8 are there at once
		c := use(s)
		for range 50 {
			bursts.Add(8)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { body(t, must(c.Get(s.URL)), nil) })
			}
			wg.Wait()
		}
		c.CloseIdleConnections()
		return s.opened.Load()
	}
	lb := opened(func(s *server) *http.Client { return client(t, newPool(t, calm, s.addr), lbhttp.Config{}) })
	bare := opened(func(*server) *http.Client { return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}} })
	assert.LessOrEqual(t, lb, int64(10))
	assert.LessOrEqual(t, lb, bare+2)
}

// A base that wraps a transport keeps names and TLS names if that is a Conns.
func TestConnsBelowAWrapper(t *testing.T) {
	var seen sightings
	s := serveTLS(t, seen.handler)
	conns := lbhttp.NewConns(s.Client().Transport.(*http.Transport))
	defer conns.CloseIdleConnections()
	var hosts []string
	wrapped := roundTripper(func(r *http.Request) (*http.Response, error) {
		hosts = append(hosts, r.URL.Host)
		r = r.Clone(context.WithValue(r.Context(), "any", "thing")) //nolint:staticcheck // as wrappers do
		r.Header.Set("Authorization", "me")
		return conns.RoundTrip(r)
	})
	pool := newPool(t, calm, s.addr)
	c := client(t, pool, lbhttp.Config{Base: wrapped})
	for range 3 {
		body(t, must(c.Get("https://example.com/")), nil)
		body(t, must(c.Get("https://www.example.com/")), nil)
	}
	assert.Equal(t, s.addr, hosts[0], "a wrapper sees the address of the backend")
	assert.Equal(t, map[string]bool{"example.com": true, "www.example.com": true}, seen.names)
	assert.EqualValues(t, 2, s.opened.Load())
	for _, hosts := range seen.hosts {
		assert.Len(t, hosts, 1)
	}
	assertIdle(t, pool)

	// By itself it is a transport like any other.
	o := serve(t, text("alone"))
	assert.Equal(t, "alone", body(t, must((&http.Client{Transport: conns}).Get(o.URL)), nil))
	_, err := conns.RoundTrip(&http.Request{URL: &url.URL{Scheme: "http"}, Header: http.Header{}})
	assert.ErrorContains(t, err, "no Host")
}

func TestPlainConnectionsStayApartByNameToo(t *testing.T) {
	var seen sightings
	s := serve(t, seen.handler)
	c := client(t, newPool(t, calm, s.addr), lbhttp.Config{})
	for range 5 {
		body(t, must(c.Get("http://one/")), nil)
		body(t, must(c.Get("http://two/")), nil)
	}
	assert.Len(t, seen.hosts, 2)
	for conn, hosts := range seen.hosts {
		assert.Len(t, hosts, 1, "connection %s was used for %v", conn, hosts)
	}
}
