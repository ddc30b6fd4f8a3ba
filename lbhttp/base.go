package lbhttp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

// This file makes http.Transports: the one that all others are copies of, and the
// one that carries the requests to one backend under one name.

const (
	defaultIdleConnTimeout     = 90 * time.Second
	defaultMaxIdleConnsPerHost = 256
)

// newTemplate returns the http.Transport that all others are copies of: a copy of
// base, or of the default if base is nil.
func newTemplate(base *http.Transport) *http.Transport {
	t := defaultBase()
	if base != nil {
		t = clone(base)
	}
	if t.IdleConnTimeout == 0 {
		t.IdleConnTimeout = defaultIdleConnTimeout
	}
	return t
}

func defaultBase() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
		DialContext: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = clone(d)
	}
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = max(t.MaxIdleConnsPerHost, defaultMaxIdleConnsPerHost)
	return t
}

// clone is http.Transport.Clone, but the copy speaks HTTP/2 if the original does. A
// Transport that has turned HTTP/2 on by itself does not pass that on to a copy. A
// Transport that golang.org/x/net/http2 has set up would share its connections with
// the copy.
func clone(t *http.Transport) *http.Transport {
	c := t.Clone()
	if t.TLSNextProto["h2"] != nil {
		c.TLSNextProto = nil
		c.ForceAttemptHTTP2 = true
	}
	if tls := c.TLSClientConfig; tls != nil {
		// Copies share the array, and each Transport appends to it when it is set up.
		tls.NextProtos = slices.Clip(tls.NextProtos)
	}
	return c
}

// speaksHTTP2 reports whether copies of t may speak HTTP/2 for a scheme.
func speaksHTTP2(t *http.Transport, scheme string) bool {
	if scheme == "http" {
		return t.Protocols != nil && t.Protocols.UnencryptedHTTP2() && !t.Protocols.HTTP1()
	}
	if t.Protocols != nil {
		return t.Protocols.HTTP2()
	}
	return t.ForceAttemptHTTP2 || t.TLSNextProto["h2"] != nil || (t.TLSNextProto == nil && t.TLSClientConfig == nil && t.DialContext == nil)
}

// canDial reports whether a direct transport can carry the requests of a scheme to
// the backend at to. It cannot if the path or the scheme of the request have to
// change, if a proxy must learn the backend's address, or if the template dials by
// functions of its own other than DialContext.
func canDial(template *http.Transport, to *url.URL, scheme, host string) bool {
	if (to.Scheme != "" && to.Scheme != scheme) || (to.Path != "" && to.Path != "/") ||
		template.DialTLSContext != nil || template.DialTLS != nil || template.Dial != nil { //nolint:staticcheck // deprecated, but may be set
		return false
	}
	switch {
	case template.Proxy == nil:
		return true
	case reflect.ValueOf(template.Proxy).Pointer() == reflect.ValueOf(http.ProxyFromEnvironment).Pointer():
		// ProxyFromEnvironment looks at the URL alone, so it can be asked beforehand.
		p, err := askProxy(template.Proxy, &http.Request{URL: &url.URL{Scheme: scheme, Host: to.Host}}, host)
		return p == nil && err == nil
	}
	return false
}

// askProxy asks for the proxy of a request that has the address of a backend in its
// URL. There is none if the address is exempt, or the name of the service, host: a
// NO_PROXY has names in it where backends are addresses that a resolver gave.
func askProxy(proxy func(*http.Request) (*url.URL, error), r *http.Request, host string) (*url.URL, error) {
	p, err := proxy(r)
	if p == nil || err != nil || host == r.URL.Host {
		return p, err
	}
	named, u := *r, *r.URL
	u.Host, named.URL = host, &u
	if exempt, err := proxy(&named); exempt == nil && err == nil {
		return nil, nil
	}
	return p, nil
}

// direct returns a transport that dials the backend at to, whatever host the URL of
// a request names. So requests can be sent unchanged.
func direct(template *http.Transport, to *url.URL, scheme string) *http.Transport {
	via := clone(template)
	via.Proxy = nil
	addr := to.Host
	if to.Port() == "" {
		addr = net.JoinHostPort(to.Hostname(), map[string]string{"http": "80", "https": "443"}[scheme])
	}
	dial := template.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	via.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, &dialError{err}
		}
		return c, nil
	}
	return via
}

// dialError marks an error of a dial function, whatever its type: no connection was
// made, so nothing was sent.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// addressed returns a transport for requests that have the address of the backend
// at to in their URL, where a proxy can see it, and the service's name in Host. The
// transport adds the TLS server name, which it takes from host.
func addressed(template *http.Transport, to *url.URL, scheme, host string) *http.Transport {
	via := clone(template)
	scheme = cmp.Or(to.Scheme, scheme)
	named := via.TLSClientConfig != nil && via.TLSClientConfig.ServerName != ""
	if scheme == "https" && !named {
		if via.TLSClientConfig == nil {
			via.TLSClientConfig = &tls.Config{}
		}
		via.TLSClientConfig.ServerName = serverName(host)
	}
	proxy := template.Proxy
	if proxy == nil {
		return via
	}
	via.Proxy = func(r *http.Request) (*url.URL, error) {
		p, err := askProxy(proxy, r, host)
		if err != nil || p == nil || (p.Scheme != "http" && p.Scheme != "https" && p.Scheme != "") {
			return p, err
		}
		switch {
		case scheme == "http" && r.URL.Opaque == "":
			// Without this http.Transport would make the request line from Host, which
			// is the service's name. The URL belongs to this package, not to the caller.
			r.URL.Opaque = "//" + r.URL.Host + cmp.Or(r.URL.EscapedPath(), "/")
		case scheme == "https" && p.Scheme == "https":
			return nil, errors.New("lbhttp: an https proxy cannot be used for https requests: " +
				"the proxy and the backend would have to share one TLS server name; use an http or socks5 proxy")
		}
		return p, nil
	}
	return via
}

// serverName is the TLS server name that http.Transport would use for host.
func serverName(host string) string {
	h := (&url.URL{Host: host}).Hostname()
	if strings.IndexFunc(h, func(r rune) bool { return r >= 0x80 }) < 0 {
		return h
	}
	// net/http does not export its IDNA conversion, but applies it when it writes a
	// request.
	var b bytes.Buffer
	req := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: h}, Header: http.Header{}}
	if req.Write(&b) == nil {
		if got, err := http.ReadRequest(bufio.NewReader(&b)); err == nil {
			return got.Host
		}
	}
	return h
}
