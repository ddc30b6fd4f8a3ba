package lbhttp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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

func TestReverseProxyBalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		a, b := n.start(t, "a:80", text("a"), nil), n.start(t, "b:80", text("b"), nil)
		pool := newPool(t, calm, "a", "b")
		n.start(t, "proxy:80", (&httputil.ReverseProxy{
			Transport: newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0)}),
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "svc"}); r.SetXForwarded() },
			ErrorLog:  quiet,
		}).ServeHTTP, nil)
		c := &http.Client{Transport: n.base(0)}
		defer c.CloseIdleConnections()
		assert.Equal(t, "a", body(t, must(c.Get("http://proxy/")), nil))
		a.stop()
		assert.Equal(t, "b", body(t, must(c.Get("http://proxy/")), nil))
		b.stop()
		resp := must(c.Get("http://proxy/"))
		body(t, resp, nil)
		assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
		assertIdle(t, pool)
	})
}
