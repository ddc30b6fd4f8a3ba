package lbhttp_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"

	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
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

// both runs a test over HTTP/1.1 and over HTTP/2. The backend is the server's
// base URL and the base trusts its certificate, which is for example.com.
func both(t *testing.T, f func(t *testing.T, serve func(http.HandlerFunc) *server)) {
	t.Run("HTTP1", func(t *testing.T) { f(t, func(h http.HandlerFunc) *server { return serve(t, h) }) })
	t.Run("HTTP2", func(t *testing.T) { f(t, func(h http.HandlerFunc) *server { return serveTLS(t, h) }) })
}

// upgradeEcho switches protocols and sends everything back.
func upgradeEcho(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "echo" {
		_, _ = io.WriteString(w, "plain")
		return
	}
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_ = rw.Flush()
	_, _ = io.Copy(c, rw)
}

func upgrade(t *testing.T, rt http.RoundTripper, url string) (*http.Response, io.ReadWriteCloser) {
	req := request(t, context.Background(), "GET", url, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := rt.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	rw, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok, "the body of a 101 can be written")
	return resp, rw
}

func say(t *testing.T, rw io.ReadWriter, what string) {
	t.Helper()
	_, err := io.WriteString(rw, what)
	require.NoError(t, err)
	got := make([]byte, len(what))
	_, err = io.ReadFull(rw, got)
	require.NoError(t, err)
	assert.Equal(t, what, string(got))
}

func TestF114UpgradedStreamIsInFlightUntilItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		defer n.serve("a:80", upgradeEcho)()
		pool := newPool(t, calm, "a")
		cfg, said := recorded(lbhttp.Config{Base: n.base(0)})
		tr := newTransport(t, sqf.New(pool), cfg)
		resp, rw := upgrade(t, tr, "http://svc/")
		say(t, rw, "hello")
		time.Sleep(time.Hour)
		assert.Equal(t, 1, pool.InFlight("a"))
		say(t, rw, "still there")
		_, ok := resp.Body.(interface{ CloseWrite() error })
		assert.True(t, ok)
		require.NoError(t, rw.Close())
		assert.Zero(t, pool.InFlight("a"))
		assert.Len(t, said(), 1)

		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		require.NoError(t, err)
		_, ok = resp.Body.(io.Writer)
		assert.False(t, ok, "the body of a 200 cannot be written")
		body(t, resp, nil)
		tr.CloseIdleConnections()
	})
}

func TestF114UpgradeThroughReverseProxy(t *testing.T) {
	s := serve(t, upgradeEcho)
	pool := newPool(t, calm, s.addr)
	proxy := serve(t, (&httputil.ReverseProxy{
		Transport: newTransport(t, sqf.New(pool), lbhttp.Config{}),
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "svc"}) },
	}).ServeHTTP)
	bare := &http.Transport{}
	_, rw := upgrade(t, bare, proxy.URL)
	say(t, rw, "hello")
	assert.Equal(t, 1, pool.InFlight(s.addr))
	require.NoError(t, rw.Close())
	require.Eventually(t, func() bool { return pool.InFlight(s.addr) == 0 }, 10*time.Second, time.Millisecond)
	bare.CloseIdleConnections()
}

func TestF116RequestIsNotModified(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v2/first" {
				http.Redirect(w, r, "/second?x=1", http.StatusFound)
				return
			}
			fmt.Fprintf(w, "%s %s %s", r.Host, r.URL, r.Referer())
		})
		pool := newPool(t, calm, s.URL+"/v2")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: s.Client().Transport})

		req := request(t, t.Context(), "POST", "http://example.com/a%2Fb/?q=1", strings.NewReader("x"))
		u, b, was := req.URL, req.Body, req.Clone(t.Context())
		resp, err := tr.RoundTrip(req)
		assert.Equal(t, "example.com /v2/a%2Fb/?q=1 ", body(t, resp, err))
		assert.Same(t, u, req.URL)
		assert.Equal(t, was.URL, req.URL)
		assert.Equal(t, was.Header, req.Header)
		assert.Equal(t, was.Host, req.Host)
		assert.True(t, b == req.Body)
		assert.Same(t, req, resp.Request, "the response's request is the caller's")

		c := &http.Client{Transport: tr}
		resp, err = c.Get("http://example.com/first")
		assert.Equal(t, "example.com /v2/second?x=1 http://example.com/first", body(t, resp, err))
		assert.Equal(t, "http://example.com/second?x=1", resp.Request.URL.String())

		// The same where the backend is no more than an address.
		plain := newTransport(t, sqf.New(newPool(t, calm, s.addr)), lbhttp.Config{Base: s.Client().Transport})
		req = request(t, t.Context(), "POST", strings.Replace(s.URL, "127.0.0.1", "example.com", 1)+"/a%2Fb/?q=1", strings.NewReader("x"))
		u, b, was = req.URL, req.Body, req.Clone(t.Context())
		resp, err = plain.RoundTrip(req)
		assert.Equal(t, req.URL.Host+" /a%2Fb/?q=1 ", body(t, resp, err))
		assert.Same(t, u, req.URL)
		assert.Equal(t, was.URL, req.URL)
		assert.Equal(t, was.Header, req.Header)
		assert.True(t, b == req.Body)
		assert.Same(t, req, resp.Request)

		// Host given by the caller stays, apart from the URL's.
		req = request(t, t.Context(), "GET", "http://example.com/", nil)
		req.Host = "other.example.com"
		resp, err = tr.RoundTrip(req)
		assert.Equal(t, "other.example.com /v2/ ", body(t, resp, err))
	})
}

func TestCookiesBelongToTheService(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("id"); err == nil {
			_, _ = io.WriteString(w, c.Value)
		}
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "7"})
	})
	o := serve(t, s.Config.Handler.ServeHTTP)
	c := client(t, newPool(t, calm, s.addr, o.addr), lbhttp.Config{})
	c.Jar = must(cookiejar.New(nil))
	assert.Empty(t, body(t, must(c.Get("http://svc.example/")), nil))
	for range 4 {
		assert.Equal(t, "7", body(t, must(c.Get("http://svc.example/")), nil), "whichever backend it is")
	}
	assert.Empty(t, body(t, must(c.Get("http://else.example/")), nil))
}

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

// The transport has no timeout of its own that could end with RoundTrip: a
// base's limit for the header leaves the body alone (F119).
func TestF119SlowBodyIsReadWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		chunk := bytes.Repeat([]byte("x"), 512<<10)
		defer n.serve("a:80", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			for range 20 {
				time.Sleep(100 * time.Millisecond)
				_, _ = w.Write(chunk)
			}
		})()
		base := n.base(0)
		base.ResponseHeaderTimeout = time.Second
		tr := newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: base})
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.Len(t, body(t, resp, err), 10<<20)
		tr.CloseIdleConnections()
	})
}

func TestF121RequestBodyIsClosedOnceWhateverTheBaseDoes(t *testing.T) {
	late := make(chan struct{})
	var wg sync.WaitGroup
	var readAfter error
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		_, _ = r.Body.Read(make([]byte, 2))
		_ = r.Body.Close()
		_ = r.Body.Close()
		wg.Go(func() {
			<-late
			_ = r.Body.Close()
			var n int
			n, readAfter = r.Body.Read(make([]byte, 2))
			assert.Zero(t, n)
		})
		return answer(r, 413, http.NoBody), nil
	})
	tr := newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: base})
	closed := 0
	buffer := []byte("payload")
	resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", &countingBody{Reader: bytes.NewReader(buffer), closed: &closed}))
	require.NoError(t, err)
	assert.Equal(t, 413, resp.StatusCode)
	copy(buffer, "changed")
	close(late)
	wg.Wait()
	assert.Equal(t, 1, closed)
	assert.ErrorContains(t, readAfter, "closed")

	// A base that closes nothing unread, and answers: closed when it gets to it.
	var kept io.Closer
	base = func(r *http.Request) (*http.Response, error) { kept = r.Body; return answer(r, 200, http.NoBody), nil }
	tr = newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: base})
	closed = 0
	_, err = tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", &countingBody{Reader: bytes.NewReader(buffer), closed: &closed}))
	require.NoError(t, err)
	assert.Zero(t, closed, "it may still be sending")
	require.NoError(t, kept.Close())
	assert.Equal(t, 1, closed)

	// And with an error it is closed in any case.
	base = func(*http.Request) (*http.Response, error) { return nil, errMine }
	tr = newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: base})
	closed = 0
	_, err = tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", &countingBody{Reader: bytes.NewReader(buffer), closed: &closed}))
	require.ErrorIs(t, err, errMine)
	assert.Equal(t, 1, closed)
}

func TestF122EitherAResponseOrAnError(t *testing.T) {
	d := &drained{Reader: strings.NewReader("x")}
	pool := newPool(t, calm, "a")
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		return answer(r, 200, d), errMine
	})})
	resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	assert.Nil(t, resp)
	assert.ErrorIs(t, err, errMine)
	assert.EqualValues(t, 1, d.closes.Load())

	s := serve(t, status(500))
	pool500 := newPool(t, calm, s.addr)
	resp, err = newTransport(t, sqf.New(pool500), lbhttp.Config{}).RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	require.NoError(t, err, "a 500 is a response, whatever the pool thinks of it")
	assert.Equal(t, 500, resp.StatusCode)
	body(t, resp, nil)

	tr = newTransport(t, sqf.New(pool), lbhttp.Config{Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })})
	resp, err = tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	assert.Nil(t, resp)
	assert.ErrorContains(t, err, "neither a response nor an error")
	assertIdle(t, pool)
}

// sighting is what a server saw of a connection.
type sightings struct {
	mu    sync.Mutex
	hosts map[string]map[string]bool // by the client's address
	names map[string]bool            // TLS server names
	proto map[string]bool
}

func (s *sightings) handler(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts, s.names, s.proto = map[string]map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	if s.hosts[r.RemoteAddr] == nil {
		s.hosts[r.RemoteAddr] = map[string]bool{}
	}
	s.hosts[r.RemoteAddr][r.Host] = true
	s.proto[r.Proto] = true
	if r.TLS != nil {
		s.names[r.TLS.ServerName] = true
	}
}

func TestF124TLSNameAndHostAreTheRequests(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			var seen sightings
			a, b := serveTLS(t, seen.handler), serveTLS(t, seen.handler)
			base := &http.Transport{ForceAttemptHTTP2: proto == "HTTP/2.0", TLSClientConfig: &tls.Config{
				RootCAs: a.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}
			pool := newPool(t, calm, a.addr, b.addr)
			c := client(t, pool, lbhttp.Config{Base: base})
			for range 5 {
				for _, url := range []string{"https://example.com/", "https://www.example.com/", "https://www.example.com:9999/"} {
					body(t, must(c.Get(url)), nil)
				}
			}
			assert.Equal(t, map[string]bool{"example.com": true, "www.example.com": true}, seen.names)
			assert.Equal(t, map[string]bool{proto: true}, seen.proto)
			for conn, hosts := range seen.hosts {
				assert.Len(t, hosts, 1, "connection %s was used for %v", conn, hosts)
			}
			_, err := c.Get("https://other.test/")
			var name *tls.CertificateVerificationError
			require.ErrorAs(t, err, &name, "the certificate is checked against the name of the service, not the address")
			assert.ErrorContains(t, err, "not other.test")

			// The user's own name is respected.
			own := base.Clone()
			own.TLSClientConfig.ServerName = "own.example.com"
			seen.names = map[string]bool{}
			c = client(t, pool, lbhttp.Config{Base: own})
			body(t, must(c.Get("https://other.test/")), nil)
			assert.Equal(t, map[string]bool{"own.example.com": true}, seen.names)
			assertIdle(t, pool)
		})
	}
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

// HTTP/2 is spoken exactly where the bare base would speak it.
func TestProtocolIsTheBases(t *testing.T) {
	s := serveTLS(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	trust := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	h1, h2 := new(http.Protocols), new(http.Protocols)
	h1.SetHTTP1(true)
	h2.SetHTTP2(true)
	for name, make := range map[string]func() *http.Transport{
		"a tls.Config": func() *http.Transport { return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}} },
		"a tls.Config and Force": func() *http.Transport {
			return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true}
		},
		"Protocols 1": func() *http.Transport {
			return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, Protocols: h1}
		},
		"Protocols 2": func() *http.Transport {
			return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, Protocols: h2}
		},
		"turned off by TLSNextProto": func() *http.Transport {
			return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
		},
		"nothing set, trust added late": func() *http.Transport {
			tr := &http.Transport{}
			tr.Clone() // makes it set itself up, as a first request would
			tr.TLSClientConfig.RootCAs = trust
			return tr
		},
	} {
		bare := make()
		want := body(t, must((&http.Client{Transport: rewriter{bare, s.addr}}).Get("https://example.com/")), nil)
		bare.CloseIdleConnections()
		got := body(t, must(client(t, newPool(t, calm, s.addr), lbhttp.Config{Base: make()}).Get("https://example.com/")), nil)
		assert.Equal(t, want, got, name)
	}
	// The default base does too.
	old := http.DefaultTransport
	defer func() { http.DefaultTransport = old }()
	d := old.(*http.Transport).Clone()
	d.TLSClientConfig.RootCAs = trust
	http.DefaultTransport = d
	assert.Equal(t, "HTTP/2.0", body(t, must(client(t, newPool(t, calm, s.addr), lbhttp.Config{}).Get("https://example.com/")), nil))
}

// rewriter sends everything to one address over a bare transport.
type rewriter struct {
	rt   http.RoundTripper
	addr string
}

func (w rewriter) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = w.addr
	return w.rt.RoundTrip(r)
}

func TestUnencryptedHTTP2(t *testing.T) {
	s := start(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.Host) }, func(s *httptestServer) {
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	})
	base := &http.Transport{Protocols: new(http.Protocols)}
	base.Protocols.SetUnencryptedHTTP2(true)
	pool := newPool(t, calm, s.addr)
	assert.Equal(t, "HTTP/2.0 svc", body(t, must(client(t, pool, lbhttp.Config{Base: base}).Get("http://svc/")), nil))
	assertIdle(t, pool)
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

// A base that wraps a plain transport keeps the Host header.
func TestCustomBaseKeepsTheHostHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	c := client(t, newPool(t, calm, s.addr), lbhttp.Config{Base: roundTripper(inner.RoundTrip)})
	assert.Equal(t, "svc:81", body(t, must(c.Get("http://svc:81/")), nil))
}

// connectProxy is an HTTP proxy that writes down what it is asked for.
func connectProxy(t *testing.T) (*server, *[]string) {
	var mu sync.Mutex
	var asked []string
	bare := &http.Transport{}
	t.Cleanup(bare.CloseIdleConnections)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Host)
		mu.Unlock()
		if r.Method != http.MethodConnect {
			out := r.Clone(r.Context())
			out.RequestURI = ""
			resp, err := bare.RoundTrip(out)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(w, resp.Body)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, rw, _ := w.(http.Hijacker).Hijack()
		defer from.Close()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(to, rw); _ = to.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(from, to)
		_ = from.Close()
		<-done
	}), &asked
}

func TestF124ThroughAProxy(t *testing.T) {
	proxy, asked := connectProxy(t)
	proxyURL := must(url.Parse(proxy.URL))
	var seen sightings
	a := serveTLS(t, seen.handler)
	base := a.Client().Transport.(*http.Transport).Clone()
	var given []string
	base.Proxy = func(r *http.Request) (*url.URL, error) { given = append(given, r.URL.Host); return proxyURL, nil }
	c := client(t, newPool(t, calm, a.addr), lbhttp.Config{Base: base})
	body(t, must(c.Get("https://example.com/")), nil)
	assert.Equal(t, []string{"CONNECT " + a.addr + " " + a.addr}, *asked, "it is asked for the backend")
	assert.Equal(t, map[string]bool{"example.com": true}, seen.names, "and the handshake is for the service")
	assert.Equal(t, a.addr, given[0], "who decides on proxies sees the backend")

	// Plain: the request line names the backend. Host may be made anew from it.
	*asked = nil
	p := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()) })
	c = client(t, newPool(t, calm, "http://"+p.addr+"/v2"), lbhttp.Config{Base: base})
	assert.Equal(t, "/v2/a%2Fb?q=1", body(t, must(c.Get("http://svc/a%2Fb?q=1")), nil))
	require.Len(t, *asked, 1)
	assert.Contains(t, (*asked)[0], "GET http://"+p.addr+"/v2/a%2Fb?q=1 ")

	over := base.Clone()
	over.Proxy = http.ProxyURL(must(url.Parse("https://proxy.test")))
	_, err := client(t, newPool(t, calm, a.addr), lbhttp.Config{Base: over}).Get("https://example.com/")
	assert.ErrorContains(t, err, "an https proxy cannot be used for https requests")
}

func TestF126Backends(t *testing.T) {
	for backend, want := range map[string]string{
		"h:1": "//h:1", "h": "//h", "H.Example:80": "//h.example:80", "h.:80": "//h.:80", "h.": "//h.",
		"[::1]:1": "//[::1]:1", "[::1]": "//[::1]", "127.0.0.1:8080": "//127.0.0.1:8080", "[FE80::1]:1": "//[fe80::1]:1",
		"http://h": "http://h", "HTTPS://H:8443/v2/": "https://h:8443/v2/", "https://10.0.0.7:8443/v2": "https://10.0.0.7:8443/v2",
		"http://h/a%2Fb": "http://h/a%2Fb", "under_score:80": "//under_score:80",
	} {
		u, err := lbhttp.ParseBackend(backend)
		if assert.NoError(t, err, backend) {
			assert.Equal(t, want, u.String(), backend)
		}
	}
	for backend, want := range map[string]string{
		"dns:///h:1": `"dns:///h:1": the scheme "dns" is neither http nor https`, "passthrough:///h": `the scheme "passthrough"`,
		"": "there is no host", ":80": "there is no host", "http://": "there is no host", "/v2": "there is no host", ".:80": "no host name",
		"h:": "the port is missing", "h:0": "not within 1 to 65535", "h:65536": "not within 1 to 65535", "h:x": "invalid port", "h:1/v2": "a path but no scheme",
		"::1": "IPv6 address", "[::1": "missing ']'", "[h]:80": "invalid host", "http://u:p@h": "it holds a user", "http://h/?q=1": "a query", "http://h/#f": "a fragment",
		"h h:80": "invalid character", "http:/h:80": "", "a,b": "", "unix:/run/x.sock": "",
	} {
		_, err := lbhttp.ParseBackend(backend)
		if assert.Error(t, err, backend) {
			assert.ErrorContains(t, err, want)
			assert.ErrorIs(t, err, evenkeel.ErrBadBackend)
		}
		_, err = lbhttp.NewWith(sqf.New(newPool(t, calm, "good:80", backend)), lbhttp.Config{})
		assert.ErrorIs(t, err, evenkeel.ErrBadBackend, "refused at construction")
	}

	// One that comes later fails its attempt, and another is tried.
	s := serve(t, echo)
	pool := newPool(t, calm, s.addr)
	tr := newTransport(t, firstOf(pool), lbhttp.Config{})
	require.NoError(t, pool.Replace("dns:///x", s.addr))
	for _, b := range []io.Reader{strings.NewReader("x"), io.MultiReader(strings.NewReader("x"))} {
		resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", b))
		assert.Equal(t, "x", body(t, resp, err))
	}
	assert.Equal(t, 2, stats(t, pool, "dns:///x").Failures)
}

func TestAddressForms(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	for backend, want := range map[string]string{
		s.addr: "/a%2Fb//c?q=1", "http://" + s.addr: "/a%2Fb//c?q=1", "http://" + s.addr + "/": "/a%2Fb//c?q=1",
		"http://" + s.addr + "/v2": "/v2/a%2Fb//c?q=1", "http://" + s.addr + "/v2/": "/v2/a%2Fb//c?q=1", "http://" + s.addr + "/v%2F2": "/v%2F2/a%2Fb//c?q=1",
	} {
		c := client(t, newPool(t, calm, backend), lbhttp.Config{})
		assert.Equal(t, want, body(t, must(c.Get("http://svc/a%2Fb//c?q=1")), nil), backend)
	}
	c := client(t, newPool(t, calm, "http://"+s.addr+"/v2"), lbhttp.Config{})
	assert.Equal(t, "/v2", body(t, must(c.Get("http://svc")), nil))
	assert.Equal(t, "/v2/x", body(t, must(c.Get("https://svc/x")), nil), "the backend's scheme overrides the request's")
}

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
	donor := serveTLS(t, text(""))
	trust := donor.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, proto := range []string{"h2", "http/1.1"} {
		synctest.Test(t, func(t *testing.T) {
			n := newMemNet()
			s := &http.Server{Handler: text("hello"), ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: donor.TLS.Certificates, NextProtos: []string{proto}}}
			l := n.listen("a:443")
			served := make(chan struct{})
			go func() { defer close(served); _ = s.ServeTLS(l, "", "") }()
			var mu sync.Mutex
			var conns []*frozen
			base := n.base(0)
			base.TLSClientConfig = &tls.Config{RootCAs: trust}
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
	donor := serveTLS(t, text(""))
	trust := donor.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		var served sync.WaitGroup
		var servers []*http.Server
		for _, h := range []string{"a:443", "b:443"} {
			s := &http.Server{Handler: text("hello"), ErrorLog: quiet, TLSConfig: &tls.Config{Certificates: donor.TLS.Certificates}}
			l := n.listen(h)
			served.Go(func() { _ = s.ServeTLS(l, "", "") })
			servers = append(servers, s)
		}
		var ice atomic.Pointer[atomic.Bool] // over the connections to a that are made from now on
		ice.Store(new(atomic.Bool))
		base := n.base(0)
		base.TLSClientConfig = &tls.Config{RootCAs: trust}
		base.ForceAttemptHTTP2 = true
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil || addr != "a:443" {
				return c, err
			}
			return &frozen{Conn: c, ice: ice.Load(), done: make(chan struct{})}, nil
		}
		pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "a", "b")
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
		assert.Equal(t, evenkeel.StateIn, stats(t, pool, "a").State)
		assertIdle(t, pool)
		tr.CloseIdleConnections()
		time.Sleep(2 * time.Minute)
		for _, s := range servers {
			_ = s.Close()
		}
		served.Wait()
	})
}

func TestF131InformationalResponses(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			for _, code := range []int{100, 102, 103, 103, 103} {
				w.WriteHeader(code)
			}
			_, _ = io.WriteString(w, "final")
		})
		cfg, said := recorded(lbhttp.Config{Base: s.Client().Transport})
		c := client(t, newPool(t, calm, s.URL), cfg)
		var codes []int
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			codes = append(codes, code)
			return nil
		}})
		resp, err := c.Do(request(t, ctx, "GET", "http://example.com/", nil))
		assert.Equal(t, "final", body(t, resp, err))
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, []int{100, 102, 103, 103, 103}, codes)
		assert.Equal(t, []evenkeel.Outcome{success}, said())
	})
}

func TestF131LatencyIsThatOfTheFinalHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		defer n.serve("a:80", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(103)
			time.Sleep(time.Second)
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			time.Sleep(time.Minute)
		})()
		var header time.Duration
		tr := newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: n.base(0), Outcome: func(a lbhttp.Attempt) evenkeel.Outcome {
			header = a.ToHeader
			return success
		}})
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		body(t, resp, err)
		assert.Equal(t, time.Second, header, "neither the 103 nor the body")
		tr.CloseIdleConnections()
	})
}

func TestF131ExpectContinue(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/no" {
				w.WriteHeader(http.StatusExpectationFailed)
				return
			}
			echo(w, r)
		})
		base := s.Client().Transport.(*http.Transport).Clone()
		base.ExpectContinueTimeout = time.Hour
		pool := newPool(t, calm, s.URL)
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
		post := func(path string, b io.Reader) (*http.Response, error) {
			req := request(t, t.Context(), "POST", "http://example.com"+path, b)
			req.Header.Set("Expect", "100-continue")
			return tr.RoundTrip(req)
		}
		resp, err := post("/yes", strings.NewReader("payload"))
		assert.Equal(t, "payload", body(t, resp, err))
		closed := 0
		never := &countingBody{Reader: io.MultiReader(strings.NewReader("payload")), closed: &closed}
		resp, err = post("/no", never)
		body(t, resp, err)
		assert.Equal(t, 417, resp.StatusCode)
		assertIdle(t, pool)
	})
}

func TestTrailersGzipAndLengths(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Length", fmt.Sprint(r.ContentLength, " ", len(b), " sum=", r.Trailer.Get("Sum")))
			w.Header().Set("Trailer", "Sum")
			if r.Header.Get("Accept-Encoding") == "gzip" {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = z.Write(b)
				_ = z.Close()
			} else {
				_, _ = w.Write(b)
			}
			w.Header().Set("Sum", "42")
		})
		pool := newPool(t, calm, s.URL)
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: s.Client().Transport})
		do := func(b io.Reader, change func(*http.Request)) (*http.Response, string) {
			req := request(t, t.Context(), "POST", "http://example.com/", b)
			if change != nil {
				change(req)
			}
			resp, err := tr.RoundTrip(req)
			return resp, body(t, resp, err)
		}
		resp, got := do(strings.NewReader("payload"), nil)
		assert.Equal(t, "payload", got)
		assert.True(t, resp.Uncompressed)
		assert.Equal(t, "7 7 sum=", resp.Header.Get("X-Length"))
		assert.Equal(t, "42", resp.Trailer.Get("Sum"))

		resp, got = do(io.MultiReader(strings.NewReader("payload")), func(r *http.Request) {
			r.Header.Set("Accept-Encoding", "identity")
			r.Trailer = http.Header{"Sum": {"7"}}
		})
		assert.Equal(t, "payload", got)
		assert.False(t, resp.Uncompressed)
		assert.Equal(t, "-1 7 sum=7", resp.Header.Get("X-Length"))

		resp, got = do(io.NopCloser(strings.NewReader("payload")), func(r *http.Request) { r.ContentLength = 7 })
		assert.Equal(t, "payload", got)
		assert.Equal(t, "7 7 sum=", resp.Header.Get("X-Length"))
		resp, _ = do(nil, nil)
		assert.Equal(t, "0 0 sum=", resp.Header.Get("X-Length"))
		resp, _ = do(http.NoBody, nil)
		assert.Equal(t, "0 0 sum=", resp.Header.Get("X-Length"))
		assertIdle(t, pool)
	})
}

func TestStreamingBothWays(t *testing.T) {
	s := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			fmt.Fprintln(w, strings.ToUpper(lines.Text()))
			w.(http.Flusher).Flush()
		}
	})
	pool := newPool(t, calm, refused(t), s.addr)
	tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: s.Client().Transport})
	out, in := io.Pipe()
	resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "https://example.com/", out))
	require.NoError(t, err, "the first backend refuses, and nothing of the stream is lost")
	lines := bufio.NewReader(resp.Body)
	for _, word := range []string{"one", "two", "three"} {
		fmt.Fprintln(in, word)
		got, err := lines.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, strings.ToUpper(word)+"\n", got)
		assert.Equal(t, 1, pool.InFlight(s.addr))
	}
	require.NoError(t, in.Close())
	_, err = lines.ReadByte()
	assert.ErrorIs(t, err, io.EOF)
	require.NoError(t, resp.Body.Close())
	assertIdle(t, pool)
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

func TestTraceOfTheCaller(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(text("x"))
		c := client(t, newPool(t, calm, s.URL), lbhttp.Config{Base: s.Client().Transport})
		for _, method := range []string{"GET", "POST"} {
			var got, wrote, first int
			var to string
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn:              func(i httptrace.GotConnInfo) { got, to = got+1, i.Conn.RemoteAddr().String() },
				WroteRequest:         func(httptrace.WroteRequestInfo) { wrote++ },
				GotFirstResponseByte: func() { first++ },
			})
			resp, err := c.Do(request(t, ctx, method, "http://example.com/", nil))
			body(t, resp, err)
			assert.Equal(t, []int{1, 1, 1}, []int{got, wrote, first}, method)
			assert.Equal(t, s.addr, to, "the address of the backend")
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	lb := sqf.New(newPool(t, calm))
	for field, cfg := range map[string]lbhttp.Retry{
		"Retry.Attempts": {Attempts: -1}, "Retry.Statuses": {Statuses: []int{200}}, "Retry.Share": {Share: 1.5}, "Retry.PerSecond": {PerSecond: 1e12},
	} {
		_, err := lbhttp.NewWith(lb, lbhttp.Config{Retry: cfg})
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		assert.ErrorContains(t, err, field)
	}
	// A Transport keeps no hold of the slice it was given.
	codes := []int{503}
	a, b := serve(t, status(503)), serve(t, text("b"))
	tr := newTransport(t, firstOf(newPool(t, calm, a.addr, b.addr)), lbhttp.Config{Retry: lbhttp.Retry{Statuses: codes}})
	codes[0] = 429
	resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	assert.Equal(t, "b", body(t, resp, err))
}

// International names are sent, and checked, in their ASCII form.
func TestInternationalNames(t *testing.T) {
	var seen sightings
	s := serveTLS(t, seen.handler)
	c := client(t, newPool(t, calm, s.addr), lbhttp.Config{Base: s.Client().Transport})
	body(t, must(c.Get("https://bücher.example.com/")), nil)
	assert.Equal(t, map[string]bool{"xn--bcher-kva.example.com": true}, seen.names)
}

func TestReverseProxyBalances(t *testing.T) {
	a, b := serve(t, text("a")), serve(t, text("b"))
	pool := newPool(t, calm, a.addr, b.addr)
	proxy := serve(t, (&httputil.ReverseProxy{
		Transport: newTransport(t, firstOf(pool), lbhttp.Config{}),
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "svc"}); r.SetXForwarded() },
		ErrorLog:  quiet,
	}).ServeHTTP)
	c := proxy.Client()
	assert.Equal(t, "a", body(t, must(c.Get(proxy.URL)), nil))
	a.Close()
	assert.Equal(t, "b", body(t, must(c.Get(proxy.URL)), nil))
	b.Close()
	resp := must(c.Get(proxy.URL))
	body(t, resp, nil)
	assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
	assertIdle(t, pool)
}
