package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/client"
	"github.com/evenkeel-go/evenkeel/discover"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/roundrobin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server starts a server that answers with its own address.
func server(t *testing.T) (s *httptest.Server, address string) {
	t.Helper()
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
			return
		}
		if to := r.FormValue("redirect"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Context().Value(http.LocalAddrContextKey))
	}))
	t.Cleanup(s.Close)
	return s, s.Listener.Addr().String()
}

func get(t *testing.T, c *client.Client, url string) string {
	t.Helper()
	resp, err := c.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

func TestAClientForAName(t *testing.T) {
	_, address := server(t)
	file := filepath.Join(t.TempDir(), "backends")
	require.NoError(t, os.WriteFile(file, []byte(address), 0o600))
	for _, target := range []string{address, "dns://" + address, "file://" + filepath.ToSlash(file)} {
		orders, err := client.New(t.Context(), target)
		require.NoError(t, err, target)
		assert.Equal(t, address, get(t, orders, "http://orders/items"))
		assert.Equal(t, target, orders.Pool().Stats().Name)
		assert.Equal(t, 1, orders.Discovery().Members)
		assert.NoError(t, orders.Close())
	}
}

func TestNewRefuses(t *testing.T) {
	for _, target := range []string{"", "dns://orders", "consul://orders"} {
		_, err := client.New(t.Context(), target)
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, target)
	}
	for name, cfg := range map[string]client.Config{
		"MaxInFlight":                  {Pool: evenkeel.Config{MaxInFlight: -1}},
		"lbhttp.Config.Retry.Attempts": {HTTP: lbhttp.Config{Retry: lbhttp.Retry{Attempts: -1}}},
		"discover.Config.Interval":     {Discover: discover.Config{Interval: -1}},
	} {
		_, err := client.NewWith(t.Context(), discover.Static("a"), cfg)
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		assert.ErrorContains(t, err, name)
	}
	_, err := client.NewWith(t.Context(), discover.Static("ftp://a"), client.Config{})
	assert.ErrorIs(t, err, evenkeel.ErrBadBackend)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	down := errors.New("down")
	_, err = client.NewWith(ctx, discover.Func[string](func(context.Context) (discover.Answer[string], error) {
		return discover.Answer[string]{}, down
	}), client.Config{})
	assert.ErrorIs(t, err, discover.ErrNoAnswer)
}

// A server that cannot be reached brings a lookup at once, long before its ejection.
func TestARefusedDialBringsALookup(t *testing.T) {
	_, b := server(t)
	gone, a := server(t)
	gone.Close()
	lookups := make(chan struct{}, 2)
	var answers [][]string
	source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
		now := answers[0]
		answers = answers[1:]
		lookups <- struct{}{}
		return discover.Backends(now...), nil
	})
	for name, base := range map[string]http.RoundTripper{"default": nil, "own": &http.Transport{}} {
		t.Run(name, func(t *testing.T) {
			answers = [][]string{{a}, {b}}
			joined := make(chan struct{})
			cfg := client.Config{
				HTTP:     lbhttp.Config{Base: base},
				Discover: discover.Config{Interval: time.Hour, MinInterval: time.Nanosecond},
				Pool: evenkeel.Config{OnEvent: func(e evenkeel.Event) {
					if e.Kind == evenkeel.EventSource && e.Text == "1 joined, 1 left" {
						close(joined)
					}
				}},
			}
			orders, err := client.NewWith(t.Context(), source, cfg)
			require.NoError(t, err)
			defer orders.Close()
			<-lookups
			resp, err := orders.Get("http://orders/items")
			if err == nil { // the lookup was faster than the retry
				require.NoError(t, resp.Body.Close())
			}
			<-lookups
			<-joined
			assert.Equal(t, b, get(t, orders, "http://orders/items"))
		})
	}
}

type countingBase struct {
	http.RoundTripper
	requests int
}

func (c *countingBase) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests++
	return c.RoundTripper.RoundTrip(r)
}

func TestThePartsCanBeChanged(t *testing.T) {
	_, a := server(t)
	_, b := server(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	base := &countingBase{RoundTripper: transport}
	orders, err := client.NewWith(t.Context(), discover.Static(a, b), client.Config{
		Policy: roundrobin.Policy{}, HTTP: lbhttp.Config{Base: base},
	})
	require.NoError(t, err)
	defer orders.Close()
	got := map[string]int{}
	for range 10 {
		got[get(t, orders, "http://orders/items")]++
	}
	assert.Equal(t, map[string]int{a: 5, b: 5}, got)
	assert.Equal(t, 10, base.requests)
}

// A redirect within the service is followed; one to another host is returned, since the
// request would go to the service's own servers.
func TestRedirects(t *testing.T) {
	_, a := server(t)
	orders, err := client.New(t.Context(), a)
	require.NoError(t, err)
	defer orders.Close()
	assert.Equal(t, a, get(t, orders, "http://orders/?redirect=/items"))
	resp, err := orders.Get("http://orders/?redirect=http://elsewhere/items")
	require.NoError(t, err)
	defer resp.Body.Close()
	assert.Equal(t, http.StatusFound, resp.StatusCode)
	_, err = orders.Get("http://orders/loop")
	assert.ErrorContains(t, err, "stopped after 10 redirects")
}
