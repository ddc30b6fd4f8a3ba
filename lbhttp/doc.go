// Package lbhttp is a client-side load balancer for HTTP: an http.RoundTripper
// that gives every request to one of the backends of an evenkeel pool.
//
//	client := &http.Client{Transport: lbhttp.NewTransport(lb)}
//	resp, err := client.Get("http://orders/items")
//
// The request names the service, the balancer chooses the server. Host header,
// TLS server name and the check of the certificate are those of the request,
// whatever address is dialled, and a connection made for one name is not used
// for another. A backend is "host:port", "host" or a base URL such as
// "https://10.0.0.7:8443/v2"; see [ParseBackend].
//
// # Every host is the pool
//
// A Transport sends every request to a backend of its pool, whatever host the URL
// names. So use a client for one service only, and mind redirects: http.Client
// follows them, and a backend that redirects to a foreign site would be sent the
// request that was meant for that site. Stop it by http.Client.CheckRedirect:
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
// A request is in flight from before the dial until its response body has been
// read to the end, closed or broken off, or until its context ends, whichever is
// first. A caller that neither closes the body nor ends the context keeps the
// request in flight, and the connection open, as with http.Transport. A
// connection that was upgraded (101 Switching Protocols) is in flight until it
// is closed.
//
// # How a request ends
//
// See [DefaultOutcome]; [Config.Outcome] replaces the rule. A pool's own
// Config.Outcome is not asked: it cannot see responses.
//
// # Retries
//
// On by default, see [Retry]. An attempt that certainly did not reach its
// backend is made again on another one; one that may have done so only if the
// request is idempotent.
//
// # What a custom base cannot keep
//
// Over an *http.Transport, which is the default, everything above holds. Over any
// other [Config.Base] requests arrive with the backend's address in URL.Host and
// the service's name in Host, so the Host header is kept; the TLS server name,
// and connections that are kept apart by name, are up to the base. A base that
// only wraps a transport (for tracing, or to add credentials) keeps them too if
// what it wraps is a [Conns]:
//
//	Config{Base: otelhttp.NewTransport(lbhttp.NewConns(nil))}
//
// # Differences from a bare http.Transport
//
// Through an HTTP proxy a plain http request names the backend in its request
// line, and the proxy may write the Host header anew from that. An https proxy
// for https requests is refused, since http.Transport has one server name for
// both. Transport.RegisterProtocol and an HTTP/2 set-up made by
// golang.org/x/net/http2 on the base are not taken over; HTTP/2 as such is.
// A DialTLSContext is given the address of the backend and makes its own handshake,
// for the name it likes. Limits on connections, MaxIdleConns and MaxConnsPerHost,
// apply to each backend and name; how many names are kept is said at [Conns]. An
// IdleConnTimeout of 0 is taken for 90 s, so that connections to backends that have
// left do not stay for ever.
package lbhttp
