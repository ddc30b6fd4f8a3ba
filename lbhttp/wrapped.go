package lbhttp

import "net/http"

// RoundTrip implements http.RoundTripper. A request that a Transport's base passes
// on goes to the backend of its attempt, over a connection for the name that the
// caller gave the service. Any other request goes where its URL says.
func (c *Conns) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Host == "" {
		return c.template.RoundTrip(req) // whose error names the fault
	}
	backend, n := req.URL.Scheme+"://"+req.URL.Host, name{scheme: req.URL.Scheme, host: req.URL.Host}
	// A base may send requests of its own under the caller's context, for a token say.
	// Those do not have the backend's address in their URL.
	a := attemptOf(req.Context())
	ours := a != nil && a.copy != nil && req.URL.Host == a.copy.url.Host
	if ours {
		backend, n = a.lease.Backend(), name{scheme: a.caller.URL.Scheme, host: a.caller.URL.Host}
	}
	t := c.target(backend)
	if t.err != nil {
		closeBody(req)
		return nil, t.err
	}
	r := c.enter(t, n)
	if ours && a.goes(c, r) {
		if ctx := a.watch(req.Context(), r); ctx != req.Context() {
			req = req.WithContext(ctx)
		}
		return r.via.RoundTrip(req)
	}
	defer r.leave()
	return r.via.RoundTrip(req)
}
