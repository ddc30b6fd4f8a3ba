package lbhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestByHost(t *testing.T) {
	orders := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://stock:81/there", http.StatusFound)
	})
	stock := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("stock " + r.Host + r.URL.Path)) })
	transport := func(s *server) http.RoundTripper {
		return newTransport(t, sqf.New(newPool(t, calm, s.addr)), lbhttp.Config{})
	}
	named := func(name string) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, io.NopCloser(strings.NewReader(name))), nil
		})
	}
	hosts, err := lbhttp.ByHost(map[string]http.RoundTripper{
		"Orders.": transport(orders), "stock": transport(stock), "stock:82": named("82"), "tls:443": named("443"),
	}, nil)
	require.NoError(t, err)
	c := &http.Client{Transport: hosts}
	for url, want := range map[string]string{
		"http://orders/":    "stock stock:81/there",
		"http://ORDERS.:9/": "stock stock:81/there",
		"http://stock:82/":  "82",
		"https://tls/":      "443",
	} {
		assert.Equal(t, want, body(t, must(c.Get(url)), nil), url)
	}
	for _, url := range []string{"http://other/", "http://tls/"} {
		sent := &closeOnce{Reader: strings.NewReader("x")}
		_, err := hosts.RoundTrip(request(t, t.Context(), "POST", url, sent))
		require.ErrorIs(t, err, lbhttp.ErrUnknownHost)
		assert.ErrorContains(t, err, `ByHost was given ["orders" "stock" "stock:82" "tls:443"]`)
		assert.EqualValues(t, 1, sent.closed.Load(), "the body is closed all the same")
	}
	c.CloseIdleConnections()

	hosts, err = lbhttp.ByHost(nil, named("other"))
	require.NoError(t, err)
	assert.Equal(t, "other", body(t, must((&http.Client{Transport: hosts}).Get("http://any/")), nil))
	hosts.CloseIdleConnections()

	for want, services := range map[string]map[string]http.RoundTripper{
		`"orders" stands twice`: {"orders": named(""), "ORDERS.": named("")},
		`is nil`:                {"orders": nil},
		`write its host`:        {"http://orders": named("")},
		`invalid port`:          {"orders:x": named("")},
	} {
		_, err := lbhttp.ByHost(services, nil)
		require.ErrorIs(t, err, evenkeel.ErrBadConfig, want)
		assert.ErrorContains(t, err, want)
	}
}
