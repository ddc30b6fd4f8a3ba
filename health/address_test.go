package health_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/health"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

func TestBadAddressesFailTheProbe(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("must not be dialled") }
	for _, c := range []struct{ backend, http, tcp string }{
		{"h:http", "invalid port", "invalid port"},
		{"h:1/v2", `write "http://h:1/v2"`, `write "http://h:1/v2"`},
		{"http://", "there is no host", "there is no host"},
		{"grpc://h:1", "is neither http nor https", "is neither http nor https"},
		{"h", "must not be dialled", `"h": it names no port; write "h:port"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			assert.ErrorContains(t, first(t, health.HTTP[string]{Dial: dial}, c.backend).Err, c.http, c.backend)
			err := first(t, health.TCP[string]{Dial: dial}, c.backend).Err
			assert.ErrorContains(t, err, c.tcp, c.backend)
			assert.ErrorIs(t, err, evenkeel.ErrBadBackend, c.backend)
		})
	}
}

// F126: a backend that a probe can read is one that lbhttp can send requests to,
// and the other way round: none is found healthy and gets no calls.
func TestF126HealthyIsRoutable(t *testing.T) {
	for _, backend := range []string{
		"h:1", "http://h", "http://h:1/v2", "[::1]:80", "[fe80::1%eth0]:80", "bücher.example", "h.:80", "", ":80", "::1", "h:99999",
		"h:0", "https://u:p@h:1", "https://h/?x=1", "h,x", "h:", "h:1/v2", "dns:///h:1", "a b:1", "http://h/#", "h\u00a0",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, want := lbhttp.ParseBackend(backend)
			network := &pipes{serve: answer(okay, nil)}
			err := first(t, health.HTTP[string]{Dial: network.dial}, backend).Err
			network.wg.Wait()
			if want == nil {
				assert.NoError(t, err, backend)
				return
			}
			assert.ErrorIs(t, err, evenkeel.ErrBadBackend, backend)
			assert.ErrorContains(t, err, want.Error())
		})
	}
}

// addr is a string of another name, and *url.URL has a String method: both are
// addresses as they are.
type addr string

func TestTypesThatAreAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipes{serve: answer(okay, nil)}
		strs, err := evenkeel.NewPool(evenkeel.Config{}, addr("h:1"))
		require.NoError(t, err)
		urls, err := evenkeel.NewPool(evenkeel.Config{}, &url.URL{Scheme: "http", Host: "h:2"})
		require.NoError(t, err)
		told := &results{}
		cfg := health.Config{OnResult: told.add, Interval: time.Hour, Jitter: -1}
		a, err := health.Start(strs, health.HTTP[addr]{Dial: network.dial}, cfg)
		require.NoError(t, err)
		b, err := health.Start(urls, health.HTTP[*url.URL]{Dial: network.dial}, cfg)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
		assert.ElementsMatch(t, []string{"h:1", "h:2"}, network.dialed)
		for _, r := range told.list {
			require.NoError(t, r.Err)
		}
		assert.Len(t, told.list, 2)
		network.wg.Wait()
	})
}

// Credentials are in the header, and a password that stands in a backend's URL all
// the same goes nowhere.
func TestHTTPPasswordsGoNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("must not be dialled") }
		for _, backend := range []string{"http://user:secret@a", "http://user:sec/secret@a"} {
			err := first(t, health.HTTP[string]{Dial: dial}, backend).Err
			require.ErrorContains(t, err, `health: probe of http://xxxxx@a: evenkeel: bad backend: "http://xxxxx@a": `)
			require.NotContains(t, err.Error(), "sec")
		}
	})
}
