package lbhttp_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

func TestKeyOfURLIsPathAndQuery(t *testing.T) {
	for url, want := range map[string]string{
		"http://shop/item/1?size=m&size=l": "/item/1?size=m&size=l",
		"http://other/item/1":              "/item/1",
		"http://shop/caf%C3%A9%2Fx?":       "/caf%C3%A9%2Fx?",
		"http://shop":                      "/",
		"http://shop/a#fragment":           "/a",
	} {
		req, err := http.NewRequest("GET", url, nil)
		require.NoError(t, err)
		assert.Equal(t, want, lbhttp.KeyOfURL(req), url)
	}
}

func TestKeyOfHeaderAndCookie(t *testing.T) {
	req, err := http.NewRequest("GET", "http://shop/", nil)
	require.NoError(t, err)
	assert.Empty(t, lbhttp.KeyOfHeader("X-User")(req))
	assert.Empty(t, lbhttp.KeyOfCookie("session")(req))
	req.Header.Add("X-User", "42")
	req.Header.Add("X-User", "43")
	req.AddCookie(&http.Cookie{Name: "other", Value: "x"})
	req.AddCookie(&http.Cookie{Name: "session", Value: "abc"})
	assert.Equal(t, "42", lbhttp.KeyOfHeader("x-user")(req))
	assert.Equal(t, "abc", lbhttp.KeyOfCookie("session")(req))
	assert.Equal(t, "shop", lbhttp.KeyOfHeader("host")(req))
}

// respond is a base that answers everything and says which host it was asked for.
type respond func(host string)

func (f respond) RoundTrip(req *http.Request) (*http.Response, error) {
	f(req.URL.Host)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// The key of a request's context is that of its lease: the same URL goes to the same backend.
func TestSameURLToTheSameBackend(t *testing.T) {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a:80", "b:80", "c:80", "d:80")
	require.NoError(t, err)
	seen := map[string]map[string]bool{}
	var path string
	transport, err := lbhttp.NewWith(carp.New(pool), lbhttp.Config{Base: respond(func(host string) {
		if seen[path] == nil {
			seen[path] = map[string]bool{}
		}
		seen[path][host] = true
	})})
	require.NoError(t, err)
	used := map[string]bool{}
	for i := range 300 {
		path = fmt.Sprint("/item/", i%30)
		req, err := http.NewRequest("GET", "http://shop"+path, nil)
		require.NoError(t, err)
		resp, err := transport.RoundTrip(req.WithContext(carp.WithKey(req.Context(), lbhttp.KeyOfURL(req))))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	for path, hosts := range seen {
		assert.Len(t, hosts, 1, path)
		for h := range hosts {
			used[h] = true
		}
	}
	assert.Len(t, used, 4)
}
