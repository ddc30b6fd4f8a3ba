package lbhttp_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/lbhttp"
)

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
	s := start(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.Host) }, unencrypted)
	base := &http.Transport{Protocols: new(http.Protocols)}
	base.Protocols.SetUnencryptedHTTP2(true)
	pool := newPool(t, calm, s.addr)
	assert.Equal(t, "HTTP/2.0 svc", body(t, must(client(t, pool, lbhttp.Config{Base: base}).Get("http://svc/")), nil))
	assertIdle(t, pool)
}

// International names are sent, and checked, in their ASCII form.
func TestInternationalNames(t *testing.T) {
	var seen sightings
	s := serveTLS(t, seen.handler)
	c := client(t, newPool(t, calm, s.addr), lbhttp.Config{Base: s.Client().Transport})
	body(t, must(c.Get("https://bücher.example.com/")), nil)
	assert.Equal(t, map[string]bool{"xn--bcher-kva.example.com": true}, seen.names)
}
