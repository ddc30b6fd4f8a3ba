package lbhttp_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestF117IdleConnectionsAreClosed(t *testing.T) {
	serverTLS, clientTLS := certified()
	for scheme, cfg := range map[string]*tls.Config{"http": nil, "https": serverTLS} { // HTTP/1.1 and HTTP/2
		synctest.Test(t, func(t *testing.T) {
			n := newMemNet()
			base := n.base(0)
			base.TLSClientConfig, base.ForceAttemptHTTP2 = clientTLS, true
			servers := map[string]*memServer{}
			for _, host := range []string{"a", "b", "c"} {
				servers[scheme+"://"+host] = n.start(t, net.JoinHostPort(host, map[string]string{"http": "80", "https": "443"}[scheme]), text(host), cfg)
			}
			pool := newPool(t, calm)
			c := client(t, pool, lbhttp.Config{Base: base})
			for backend := range servers {
				require.NoError(t, pool.Replace(backend))
				body(t, must(c.Get("http://example.com/")), nil)
			}
			require.NoError(t, pool.Replace())
			synctest.Wait() // HTTP/2 streams end a moment after their bodies
			for _, s := range servers {
				assert.EqualValues(t, 1, s.open.Load())
			}
			c.CloseIdleConnections()
			synctest.Wait()
			for _, s := range servers {
				assert.Zero(t, s.open.Load(), "of backends that have left, too")
			}
		})
	}

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
		var servers []*memServer
		open := func() (open int64) {
			synctest.Wait()
			for _, s := range servers {
				open += s.open.Load()
			}
			return open
		}
		pool := newPool(t, calm)
		base := n.base(0)
		base.IdleConnTimeout = 1000 * time.Hour
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
		for i := range 300 {
			addr := fmt.Sprintf("h%d:80", i)
			servers = append(servers, n.start(t, addr, text("x"), nil))
			require.NoError(t, pool.Replace(addr))
			for range 3 {
				resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
				body(t, resp, err)
			}
			time.Sleep(20 * time.Second)
			require.LessOrEqual(t, open(), int64(8), "after %d addresses", i+1)
		}
		tr.CloseIdleConnections()
		assert.Zero(t, open())
	})
}

// Names may be chosen by strangers, where requests come through a proxy.
func TestNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		s := n.start(t, "a:80", text("x"), nil)
		c := client(t, newPool(t, calm, "a"), lbhttp.Config{Base: n.base(0)})
		for i := range 200 {
			body(t, must(c.Get(fmt.Sprintf("http://name%d/", i))), nil)
		}
		synctest.Wait()
		assert.EqualValues(t, 64, s.open.Load())
		assert.EqualValues(t, 200, s.opened.Load())
	})
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	opened := func(use func(t *testing.T, base *http.Transport) *http.Client) (opened int64) {
		synctest.Test(t, func(t *testing.T) {
			n := newMemNet()
			var burst sync.WaitGroup
			s := n.start(t, "a:80", func(http.ResponseWriter, *http.Request) { burst.Done(); burst.Wait() }, nil) // all 8 are there at once
			c := use(t, n.base(0))
			for range 50 {
				burst.Add(8)
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() { body(t, must(c.Get("http://a/")), nil) })
				}
				wg.Wait()
				synctest.Wait()
			}
			c.CloseIdleConnections()
			opened = s.opened.Load()
		})
		return opened
	}
	bare := opened(func(_ *testing.T, base *http.Transport) *http.Client { return &http.Client{Transport: base} })
	lb := opened(func(t *testing.T, base *http.Transport) *http.Client {
		return client(t, newPool(t, calm, "a"), lbhttp.Config{Base: base})
	})
	assert.EqualValues(t, 8, bare)
	assert.EqualValues(t, 8, lb)
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
