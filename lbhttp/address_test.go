package lbhttp_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestF126Backends(t *testing.T) {
	for backend, want := range map[string]string{
		"h:1": "//h:1", "h": "//h", "H.Example:80": "//h.example:80", "h.:80": "//h.:80", "h.": "//h.",
		"[::1]:1": "//[::1]:1", "[::1]": "//[::1]", "127.0.0.1:8080": "//127.0.0.1:8080", "[FE80::1]:1": "//[fe80::1]:1",
		"http://h": "http://h", "HTTPS://H:8443/v2/": "https://h:8443/v2/", "https://10.0.0.7:8443/v2": "https://10.0.0.7:8443/v2",
		"http://h/a%2Fb": "http://h/a%2Fb", "under_score:80": "//under_score:80",
	} {
		u, err := lbhttp.ParseBackend(backend)
		if assert.NoError(t, err, backend) {
			assert.Equal(t, want, u.String(), backend)
		}
	}
	for backend, want := range map[string]string{
		"dns:///h:1": `"dns:///h:1": the scheme "dns" is neither http nor https`, "passthrough:///h": `the scheme "passthrough"`,
		"": "there is no host", ":80": "there is no host", "http://": "there is no host", "/v2": "there is no host", ".:80": "no host name",
		"h:": "the port is missing", "h:0": "not within 1 to 65535", "h:65536": "not within 1 to 65535", "h:x": "invalid port", "h:1/v2": "a path but no scheme",
		"::1": "IPv6 address", "[::1": "missing ']'", "[h]:80": "IPv6 address", "http://u:p@h": "it holds a user", "http://h/?q=1": "a query", "http://h/#f": "a fragment",
		"h h:80": "invalid character", "http:/h:80": "", "a,b": "", "unix:/run/x.sock": "",
	} {
		_, err := lbhttp.ParseBackend(backend)
		if assert.Error(t, err, backend) {
			assert.ErrorContains(t, err, want)
			assert.ErrorIs(t, err, evenkeel.ErrBadBackend)
		}
		_, err = lbhttp.NewWith(sqf.New(newPool(t, calm, "good:80", backend)), lbhttp.Config{})
		assert.ErrorIs(t, err, evenkeel.ErrBadBackend, "refused at construction")
	}

	// One that comes later fails its attempt, and another is tried.
	s := serve(t, echo)
	pool := newPool(t, calm, s.addr)
	tr := newTransport(t, firstOf(pool), lbhttp.Config{})
	require.NoError(t, pool.Replace("dns:///x", s.addr))
	for _, b := range []io.Reader{strings.NewReader("x"), io.MultiReader(strings.NewReader("x"))} {
		resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", b))
		assert.Equal(t, "x", body(t, resp, err))
	}
	assert.EqualValues(t, 2, stats(t, pool, "dns:///x").Failures)
}

func TestAddressForms(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) })
	for backend, want := range map[string]string{
		s.addr: "/a%2Fb//c?q=1", "http://" + s.addr: "/a%2Fb//c?q=1", "http://" + s.addr + "/": "/a%2Fb//c?q=1",
		"http://" + s.addr + "/v2": "/v2/a%2Fb//c?q=1", "http://" + s.addr + "/v2/": "/v2/a%2Fb//c?q=1", "http://" + s.addr + "/v%2F2": "/v%2F2/a%2Fb//c?q=1",
	} {
		c := client(t, newPool(t, calm, backend), lbhttp.Config{})
		assert.Equal(t, want, body(t, must(c.Get("http://svc/a%2Fb//c?q=1")), nil), backend)
	}
	c := client(t, newPool(t, calm, "http://"+s.addr+"/v2"), lbhttp.Config{})
	assert.Equal(t, "/v2", body(t, must(c.Get("http://svc")), nil))
	assert.Equal(t, "/v2/x", body(t, must(c.Get("https://svc/x")), nil), "the backend's scheme overrides the request's")
}

// connectProxy is an HTTP proxy that writes down what it is asked for.
func connectProxy(t *testing.T) (*server, *[]string) {
	var mu sync.Mutex
	var asked []string
	bare := &http.Transport{}
	t.Cleanup(bare.CloseIdleConnections)
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.RequestURI+" "+r.Host)
		mu.Unlock()
		if r.Method != http.MethodConnect {
			out := r.Clone(r.Context())
			out.RequestURI = ""
			resp, err := bare.RoundTrip(out)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			defer resp.Body.Close()
			_, _ = io.Copy(w, resp.Body)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, rw, _ := w.(http.Hijacker).Hijack()
		defer from.Close()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() { defer close(done); _, _ = io.Copy(to, rw); _ = to.(*net.TCPConn).CloseWrite() }()
		_, _ = io.Copy(from, to)
		_ = from.Close()
		<-done
	}), &asked
}

func TestF124ThroughAProxy(t *testing.T) {
	proxy, asked := connectProxy(t)
	proxyURL := must(url.Parse(proxy.URL))
	var seen sightings
	a := serveTLS(t, seen.handler)
	base := a.Client().Transport.(*http.Transport).Clone()
	var given []string
	base.Proxy = func(r *http.Request) (*url.URL, error) { given = append(given, r.URL.Host); return proxyURL, nil }
	c := client(t, newPool(t, calm, a.addr), lbhttp.Config{Base: base})
	body(t, must(c.Get("https://example.com/")), nil)
	assert.Equal(t, []string{"CONNECT " + a.addr + " " + a.addr}, *asked, "it is asked for the backend")
	assert.Equal(t, map[string]bool{"example.com": true}, seen.names, "and the handshake is for the service")
	assert.Equal(t, a.addr, given[0], "who decides on proxies sees the backend")

	// Plain: the request line names the backend. Host may be made anew from it.
	*asked = nil
	p := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()) })
	c = client(t, newPool(t, calm, "http://"+p.addr+"/v2"), lbhttp.Config{Base: base})
	assert.Equal(t, "/v2/a%2Fb?q=1", body(t, must(c.Get("http://svc/a%2Fb?q=1")), nil))
	require.Len(t, *asked, 1)
	assert.Contains(t, (*asked)[0], "GET http://"+p.addr+"/v2/a%2Fb?q=1 ")

	over := base.Clone()
	over.Proxy = http.ProxyURL(must(url.Parse("https://proxy.test")))
	_, err := client(t, newPool(t, calm, a.addr), lbhttp.Config{Base: over}).Get("https://example.com/")
	assert.ErrorContains(t, err, "an https proxy cannot be used for https requests")
}

// NO_PROXY holds for the name of the service as for the address of the backend.
func TestF191ExemptFromTheProxyByNameOrAddress(t *testing.T) {
	proxy, asked := connectProxy(t)
	proxyURL := must(url.Parse(proxy.URL))
	for scheme, serve := range map[string]func(testing.TB, http.HandlerFunc) *server{"http": serve, "https": serveTLS} {
		s := serve(t, text("hello"))
		for name, c := range map[string]struct {
			exempt func(host string) bool
			asked  int
		}{
			"nothing":     {func(string) bool { return false }, 1},
			"the name":    {func(host string) bool { return host == "www.example.com" }, 0},
			"the address": {func(host string) bool { return host == "127.0.0.1" }, 0},
			"another":     {func(host string) bool { return host == "other.test" }, 1},
		} {
			*asked = nil
			base := s.Client().Transport.(*http.Transport).Clone()
			base.Proxy = func(r *http.Request) (*url.URL, error) {
				if assert.Equal(t, scheme, r.URL.Scheme); c.exempt(r.URL.Hostname()) {
					return nil, nil
				}
				return proxyURL, nil
			}
			backend := s.addr
			if name == "the name" {
				backend = s.URL + "/v2" // the path is of no account
			}
			resp, err := client(t, newPool(t, calm, backend), lbhttp.Config{Base: base}).Get(scheme + "://www.example.com/")
			assert.Equal(t, "hello", body(t, resp, err))
			assert.Len(t, *asked, c.asked, "%s: %s is exempt", scheme, name)
		}
	}
}

// A base that wraps a plain transport keeps the Host header.
func TestCustomBaseKeepsTheHostHeader(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) })
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	c := client(t, newPool(t, calm, s.addr), lbhttp.Config{Base: roundTripper(inner.RoundTrip)})
	assert.Equal(t, "svc:81", body(t, must(c.Get("http://svc:81/")), nil))
}
