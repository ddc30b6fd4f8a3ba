// Package lbhttp is a client-side load balancer for HTTP: an http.RoundTripper
// that sends every request to one of the backends of an evenkeel pool.
//
//	client := &http.Client{Transport: lbhttp.NewTransport(lb)}
//	resp, err := client.Get("http://orders/items")
//
// The request names the service, the balancer chooses the server. The Host header,
// the TLS server name and the check of the certificate are those of the request,
// whatever address is dialled. A connection that was made for one name is not used
// for another. A backend is "host:port", "host" or a base URL such as
// "https://10.0.0.7:8443/v2"; see [ParseBackend].
//
// The pool, its ejection and its limits are those of package evenkeel. Packages
// p2c, sqf, roundrobin and random have the balancers; p2c is the one to begin with.
// Package health probes the members of a pool.
//
// # Every host is the pool
//
// A Transport sends every request to a backend of its pool, whatever host the URL
// names. So use a client for one service only, and take care with redirects. An
// http.Client follows them: if a backend redirects to another site, the request that
// is meant for that site goes to a backend of the pool. http.Client.CheckRedirect
// prevents that:
//
//	CheckRedirect: func(req *http.Request, via []*http.Request) error {
//		switch first := via[0].URL; {
//		case req.URL.Scheme != first.Scheme || req.URL.Host != first.Host:
//			return http.ErrUseLastResponse // hand the redirect to the caller
//		case len(via) >= 10:
//			return errors.New("stopped after 10 redirects")
//		}
//		return nil
//	}
//
// # What counts as in flight
//
// A request is in flight from before the dial until its response body is read to
// the end, closed or broken off, or until its context ends, whichever is first. If
// the caller neither closes the body nor ends the context, the request stays in
// flight and its connection stays open, as with http.Transport. A connection that
// was upgraded (101 Switching Protocols) is in flight until it is closed.
//
// # How a request ends
//
// [DefaultOutcome] says which attempts count against their backend.
// [Config.Outcome] replaces that rule. A pool's own Config.Outcome is not called: it
// cannot see responses.
//
// # Retries
//
// Retries are on by default, see [Retry]. An attempt that certainly did not reach
// its backend is made again on another one. An attempt that may have reached its
// backend is made again only if the request is idempotent.
//
// # Goroutines
//
// A Transport has no goroutine that waits in the background, and none for a request
// that is in flight. These are started:
//
//   - When the context of a request ends before the request does, one goroutine ends
//     the attempt and calls Config.Outcome. If the context's type is not one of
//     package context, that package starts one for each attempt, which waits until
//     the attempt or the context ends.
//   - When a response is to be tried again, one goroutine reads the rest of its body.
//     After at most 50 ms the body is closed, which ends the goroutine.
//   - The base starts its own. An http.Transport has two for each open HTTP/1
//     connection, one for each open HTTP/2 connection and for each request on it, and
//     one for each dial. Those of a connection end when it is closed; see
//     [Transport.CloseIdleConnections].
//
// # What a custom base cannot keep
//
// Over an *http.Transport, which is the default, everything above holds. Over any
// other [Config.Base], requests arrive with the backend's address in URL.Host and
// the service's name in Host, so the Host header is kept. The base decides on the
// TLS server name, and whether it keeps connections for different names apart. A
// base that only wraps a transport, for tracing or to add credentials, keeps both if
// it wraps a [Conns]:
//
//	Config{Base: otelhttp.NewTransport(lbhttp.NewConns(nil))}
//
// # Differences from a bare http.Transport
//
//   - http.Transport.Proxy is asked with the backend's address in the URL, and, if it
//     names a proxy, once more with the name of the service. Either one can exempt the
//     request, as by NO_PROXY; the proxy is the one that is named for the address.
//   - Through an HTTP proxy, a plain http request names the backend in its request
//     line. The proxy may write the Host header anew from that.
//   - An https proxy for https requests is refused, since http.Transport has one TLS
//     server name for both.
//   - What Transport.RegisterProtocol and golang.org/x/net/http2 have set up on the
//     base is not taken over. HTTP/2 as such is.
//   - A DialTLSContext is given the address of the backend. It makes the handshake
//     itself, for the name of its choice.
//   - MaxIdleConnsPerHost and MaxConnsPerHost apply to each pair of backend and name,
//     and so does MaxIdleConns. [Conns] says how many names are kept.
//   - An IdleConnTimeout of 0 means 90 s, so that connections to backends that have
//     left the pool do not stay for ever.
package lbhttp
