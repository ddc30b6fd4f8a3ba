package health_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/health"
)

// A probe speaks what calls speak that are made with the same base.
func TestHTTPSpeaksWhatItsBaseSpeaks(t *testing.T) {
	unencrypted := new(http.Protocols)
	unencrypted.SetUnencryptedHTTP2(true)
	for want, c := range map[string]struct {
		begin func(*httptest.Server)
		base  func(*httptest.Server) *http.Transport
	}{
		"HTTP/2.0 without TLS": {
			func(s *httptest.Server) { s.Config.Protocols = unencrypted; s.Start() },
			func(*httptest.Server) *http.Transport { return &http.Transport{Protocols: unencrypted} },
		},
		"HTTP/2.0 with TLS": {
			func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
			func(s *httptest.Server) *http.Transport { return s.Client().Transport.(*http.Transport) },
		},
		"HTTP/1.1 with TLS": {
			func(s *httptest.Server) { s.StartTLS() },
			func(s *httptest.Server) *http.Transport { return s.Client().Transport.(*http.Transport) },
		},
	} {
		var seen atomic.Value
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if seen.Store(r.Proto + " without TLS"); r.TLS != nil {
				seen.Store(r.Proto + " with TLS")
			}
		}))
		c.begin(s)
		base := c.base(s).Clone()
		var dials atomic.Int32
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
		base.Proxy = func(*http.Request) (*url.URL, error) { return nil, assert.AnError }
		require.NoError(t, first(t, health.HTTP[string]{Host: "example.com", Base: base}, s.URL).Err, want)
		assert.Equal(t, want, seen.Load())
		assert.EqualValues(t, 1, dials.Load(), "by the base's function")
		base.CloseIdleConnections()
		s.Close()
	}
}
