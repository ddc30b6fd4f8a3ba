package client

import (
	"context"
	"net"
	"net/http"
)

// idlePerServer is how many idle connections to one server are kept. Package net/http
// keeps two, so that a busy client dials again and again.
const idlePerServer = 256

// refreshing returns a base for lbhttp that calls refresh when a server cannot be
// reached: the server's address may be an old one. base may be nil; a base that is no
// *http.Transport is returned as it is.
func refreshing(base http.RoundTripper, refresh func()) http.RoundTripper {
	t, ok := base.(*http.Transport)
	switch {
	case ok:
		t = t.Clone()
	case base != nil:
		return base
	default:
		t = defaultBase()
	}
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil && ctx.Err() == nil {
			refresh()
		}
		return conn, err
	}
	return t
}

func defaultBase() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t = d.Clone()
	}
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, idlePerServer
	return t
}
