package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProxyBalances(t *testing.T) {
	hits := map[string]int{}
	var backends []string
	for _, name := range []string{"a", "b", "c"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, name, " ", r.Host, " ", r.Header.Get("X-Forwarded-Host"), " ", r.URL)
		}))
		defer s.Close()
		backends = append(backends, s.Listener.Addr().String())
	}
	h, err := newProxy(backends...)
	require.NoError(t, err)
	defer h.Transport.(*lbhttp.Transport).CloseIdleConnections()
	proxy := httptest.NewServer(h)
	defer proxy.Close()

	for range 300 {
		req, err := http.NewRequest("GET", proxy.URL+"/items?q=1", nil)
		require.NoError(t, err)
		req.Host = "shop.example"
		resp, err := proxy.Client().Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, " shop.example shop.example /items?q=1", string(body[1:]))
		hits[string(body[:1])]++
	}
	for _, name := range []string{"a", "b", "c"} {
		assert.InDelta(t, 100, hits[name], 60, name) // over seven standard deviations of a random choice
	}
}

func TestProxyRefusesBadBackends(t *testing.T) {
	_, err := newProxy("dns:///orders")
	assert.ErrorIs(t, err, evenkeel.ErrBadBackend)
	_, err = newProxy("a:80", "a:80")
	assert.ErrorIs(t, err, evenkeel.ErrDuplicate)
}
