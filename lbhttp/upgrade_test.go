package lbhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

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
		n.start(t, "a:80", upgradeEcho, nil)
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
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", upgradeEcho, nil)
		pool := newPool(t, calm, "a")
		n.start(t, "proxy:80", (&httputil.ReverseProxy{
			Transport: newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0)}),
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "svc"}) },
		}).ServeHTTP, nil)
		bare := n.base(0)
		defer bare.CloseIdleConnections()
		_, rw := upgrade(t, bare, "http://proxy/")
		say(t, rw, "hello")
		assert.Equal(t, 1, pool.InFlight("a"))
		require.NoError(t, rw.Close())
		synctest.Wait()
		assert.Zero(t, pool.InFlight("a"))
	})
}
