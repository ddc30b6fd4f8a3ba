package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxBody is how much of an answer's body is read.
const maxBody = 64 << 10

// HTTP is a probe that makes a GET request. It passes when the answer has the
// expected status, and its body has come in full or the first 64 KiB of the body
// have. A redirect is not followed: it is a status like any other.
//
// Every probe makes a connection of its own and closes it, so a probe also shows
// that the backend still accepts connections. Proxies set in the environment are
// not used.
type HTTP[T comparable] struct {
	// Path is the path that is requested, with a query if need be. If a backend is
	// a URL with a path, that path comes first: "https://h:1/v2" and "/healthz"
	// make https://h:1/v2/healthz. "": "/".
	Path string

	// Status is the status that passes, from 100 to 599. 0: all of 200 to 299.
	Status int

	// Host is the Host header. With https the certificate is checked against Host
	// too, unless TLS.ServerName is set. "": the host of the backend's address.
	Host string

	// Header is sent with every probe. Credentials belong here, since a backend's
	// address holds none. Header may replace the User-Agent, which is
	// "evenkeel-health". nil: nothing more.
	Header http.Header

	// TLS is used for https. If TLS is set, backends without a scheme are probed by
	// https. nil: the defaults of crypto/tls.
	TLS *tls.Config

	// Address returns the address of a backend, in the grammar of lbhttp:
	// "host:port", "host" (port 80, or 443 if TLS is set), or a URL of scheme http
	// or https. Any other address fails the probe. nil: the backend itself, which
	// must be a string or have a String method that returns the address.
	Address func(backend T) string

	// Dial makes the connections. nil: that of Base.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Base has the set-up of the connections: give it what lbhttp.Config.Base is, and
	// probes speak to a backend as its calls do, with the same dial function, TLS and
	// protocols, HTTP/2 without TLS among them. TLS and Dial come before Base. A copy is
	// used, without its proxy, its DialTLSContext and its idle connections. nil: the
	// zero http.Transport, with HTTP/2 over TLS.
	Base *http.Transport
}

func (p HTTP[T]) prepare() (func(context.Context, T) error, func(), error) {
	address, err := addressOf(p.Address, "HTTP.Address")
	if err != nil {
		return nil, nil, err
	}
	path, err := p.path()
	if err != nil {
		return nil, nil, err
	}
	if p.Status != 0 && (p.Status < 100 || p.Status > 599) {
		return nil, nil, badConfig("HTTP.Status", "%d is not within 100 to 599", p.Status)
	}
	name, err := p.hostname()
	if err != nil {
		return nil, nil, err
	}
	scheme := "http"
	transport := p.transport()
	if p.TLS != nil {
		scheme, transport.TLSClientConfig = "https", p.TLS.Clone()
	}
	if transport.TLSClientConfig.ServerName == "" {
		transport.TLSClientConfig.ServerName = name
	}
	header := p.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if _, set := header["User-Agent"]; !set {
		header.Set("User-Agent", "evenkeel-health")
	}
	if err := checkHeader(transport, header); err != nil {
		return nil, nil, err
	}
	run := func(ctx context.Context, backend T) error {
		u, err := parseAddress(address(backend), scheme)
		if err != nil {
			return err
		}
		u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+path.Path, strings.TrimSuffix(u.EscapedPath(), "/")+path.EscapedPath()
		u.RawQuery = path.RawQuery
		req := (&http.Request{
			Method: http.MethodGet, URL: u, Host: p.Host, Header: header.Clone(),
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}).WithContext(ofProbe(ctx))
		if err := p.ask(transport, req); err != nil {
			return fmt.Errorf("GET %v: %w", u, err)
		}
		return nil
	}
	return run, transport.CloseIdleConnections, nil
}

// transport returns what probes are sent by, made from Base.
func (p HTTP[T]) transport() *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true}
	if p.Base != nil {
		t = p.Base.Clone()
		t.ForceAttemptHTTP2 = t.ForceAttemptHTTP2 || t.TLSNextProto["h2"] != nil
		t.TLSNextProto = nil // of the original's own connections
	}
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{}
	}
	dial := p.Dial
	if dial == nil {
		dial = t.DialContext
	}
	t.DialContext = dialFor(dial)
	t.Proxy, t.DialTLSContext, t.DialTLS = nil, nil, nil //nolint:staticcheck // deprecated, but may be set
	t.DisableKeepAlives, t.DisableCompression = true, true
	t.MaxResponseHeaderBytes = maxBody
	return t
}

// path is Path, parsed.
func (p HTTP[T]) path() (*url.URL, error) {
	if p.Path == "" {
		return &url.URL{Path: "/"}, nil
	}
	u, err := url.ParseRequestURI(p.Path)
	if err != nil || !strings.HasPrefix(p.Path, "/") || strings.Contains(p.Path, "#") {
		return nil, badConfig("HTTP.Path", "%q is not the path of a URL: it must begin with / and hold no #", p.Path)
	}
	return u, nil
}

// hostname is Host without its port.
func (p HTTP[T]) hostname() (string, error) {
	if p.Host == "" {
		return "", nil
	}
	u, err := parseAddress(p.Host, "")
	if err != nil || u.Scheme != "" {
		return "", badConfig("HTTP.Host", "%q is neither a host nor host:port", p.Host)
	}
	return u.Hostname(), nil
}

// checkHeader lets the transport judge the header, with a request whose context
// has ended before it is made. Without that a bad header would fail every probe.
func checkHeader(transport http.RoundTripper, header http.Header) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://host/", http.NoBody)
	if err == nil {
		req.Header = header
		var resp *http.Response
		if resp, err = transport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return badConfig("HTTP.Header", "%v", err)
	}
	return nil
}

// ask makes the request and judges the answer.
func (p HTTP[T]) ask(transport http.RoundTripper, req *http.Request) error {
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	switch code := resp.StatusCode; {
	case p.Status == 0 && code >= 200 && code <= 299, p.Status == code:
	case code >= 300 && code <= 399 && resp.Header.Get("Location") != "":
		return fmt.Errorf("status %s, want %s; the redirect to %q is not followed", resp.Status, p.wanted(), resp.Header.Get("Location"))
	default:
		return fmt.Errorf("status %s, want %s", resp.Status, p.wanted())
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil // what follows is no body
	}
	if _, err := io.CopyN(io.Discard, resp.Body, maxBody); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("status %s, but its body broke off: %w", resp.Status, err)
	}
	return nil
}

func (p HTTP[T]) wanted() string {
	if p.Status == 0 {
		return "200 to 299"
	}
	return fmt.Sprint(p.Status)
}

// probeKey is where a request's context keeps the context of its probe.
type probeKey struct{}

// ofProbe returns a context that holds ctx as a value. The transport dials with a
// context that has the values of the request's context but does not end with it,
// since another request may use the connection. A probe's connection is for that
// probe alone, so dialling must end with the probe, and so must the connection.
func ofProbe(ctx context.Context) context.Context {
	return context.WithValue(ctx, probeKey{}, ctx)
}

// dialFor returns dial bound to the probe: the connection is closed when the
// probe's context ends, which is at the latest when the probe ends.
func dialFor(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		probe := ctx.Value(probeKey{}).(context.Context)
		conn, err := dial(probe, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(probe, func() { _ = conn.Close() })
		return conn, nil
	}
}
