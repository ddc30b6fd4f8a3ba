package lbhttp_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// keyed is a policy that takes the backend which the key names, if it may be taken.
type keyed struct{}

func (keyed) Choose(v evenkeel.View) (int, evenkeel.Load) {
	for i := range v.Len() {
		if v.Backend(i) == v.Key() {
			return i, v.Load(i)
		}
	}
	return v.Least()
}

// The key goes with every attempt at the request.
func TestKey(t *testing.T) {
	a, b, c := serve(t, text("a")), serve(t, text("b")), serve(t, text("c"))
	pool := newPool(t, calm, a.addr, b.addr, c.addr)
	tr := newTransport(t, evenkeel.NewDispatcher(pool, keyed{}), lbhttp.Config{
		Key: func(r *http.Request) string { return r.Header.Get("Session") },
	})
	get := func(session string) string {
		req := request(t, t.Context(), "GET", "http://svc/", nil)
		req.Header.Set("Session", session)
		resp, err := tr.RoundTrip(req)
		return body(t, resp, err)
	}
	for range 20 {
		assert.Equal(t, "b", get(b.addr))
		assert.Equal(t, "c", get(c.addr))
	}
	require.NoError(t, pool.Eject(b.addr))
	assert.NotEqual(t, "b", get(b.addr), "another one takes over")
}

func TestKeyOfFurtherAttempts(t *testing.T) {
	pool := newPool(t, calm, "a", "b")
	var keys []string
	lb := spy{firstOf(pool), func(c evenkeel.Call[string]) { keys = append(keys, c.Key) }}
	tr := newTransport(t, lb, lbhttp.Config{
		Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errMine }),
		Key:  func(*http.Request) string { return "k" },
	})
	_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	require.ErrorIs(t, err, errMine)
	assert.Equal(t, []string{"k", "k", "k"}, keys, "two attempts, and one that finds no backend")
}

// spy sees the calls that leases are asked for.
type spy struct {
	evenkeel.Balancer[string]
	see func(evenkeel.Call[string])
}

func (s spy) LeaseFor(ctx context.Context, c evenkeel.Call[string]) (evenkeel.Lease[string], error) {
	s.see(c)
	return s.Balancer.LeaseFor(ctx, c)
}

// stubborn is a balancer that does not keep to what must be avoided.
type stubborn struct{ evenkeel.Balancer[string] }

func (s stubborn) LeaseFor(ctx context.Context, _ evenkeel.Call[string]) (evenkeel.Lease[string], error) {
	return s.Balancer.Lease(ctx)
}

func TestBalancerThatCannotAvoid(t *testing.T) {
	pool := newPool(t, calm, "a", "b")
	calls := 0
	tr := newTransport(t, stubborn{firstOf(pool)}, lbhttp.Config{Base: roundTripper(func(*http.Request) (*http.Response, error) {
		calls++
		return nil, errMine
	})})
	_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	require.ErrorIs(t, err, errMine)
	assert.ErrorContains(t, err, "the balancer chose a again: its LeaseFor does not keep to Call.Avoid")
	assert.Equal(t, 1, calls, "no backend twice")
	assertIdle(t, pool)
}

func TestOneServerSpeltTwice(t *testing.T) {
	for _, c := range [][2]string{
		{"a:80", "A:80"}, {"http://a", "http://a:80/"}, {"https://a:443/v2", "https://A/v2/"},
	} {
		_, err := lbhttp.NewWith(sqf.New(newPool(t, calm, c[:]...)), lbhttp.Config{})
		require.ErrorIs(t, err, evenkeel.ErrDuplicate, "%q", c)
		require.ErrorIs(t, err, evenkeel.ErrBadBackend)
		assert.ErrorContains(t, err, "are the same server")
	}
	for _, c := range [][2]string{
		{"a", "a:80"}, {"a:80", "http://a:80"}, {"http://a", "https://a"}, {"http://a/v1", "http://a/v2"}, {"a:80", "a:81"},
	} {
		_, err := lbhttp.NewWith(sqf.New(newPool(t, calm, c[:]...)), lbhttp.Config{})
		require.NoError(t, err, "%q", c)
	}
}
