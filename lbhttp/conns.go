package lbhttp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Conns holds the connections of a Transport: one http.Transport for each pair of
// a backend and a name that requests gave the service. That keeps apart what must
// be apart, since http.Transport files connections by the host in the URL alone.
//
// For each backend up to 64 names are kept at a time, since a proxy's clients may
// choose them. One more takes the place of the name used least recently, whose idle
// connections are closed; requests under way go on. A client that calls a backend by
// more names than that in turn dials for nearly every request: give the service one
// name in the request's URL, then, and put what the server is to see into
// Request.Host.
//
// A Transport makes its own from Config.Base. Use Conns by itself at the bottom of
// a base that wraps a transport; where the wrapper has no CloseIdleConnections,
// call that of the Conns. Several Transports may share one. A request that does
// not come from a Transport goes to where its URL says. It is safe for concurrent
// use; make it by NewConns.
type Conns struct {
	template *http.Transport

	targets atomic.Pointer[map[string]*target] // by backend, replaced as a whole

	mu      sync.Mutex // guards changes
	swept   time.Time
	retired []*route // may have connections still
	pruneAt int      // retired is gone through when it is so long
}

const (
	// sweepEvery is how long a backend or name must have gone unused before its
	// connections are closed. It is looked at when a new one comes up: addresses
	// that change are what makes old ones pile up.
	sweepEvery = time.Minute

	// maxNames bounds the names of one backend. The doc of Conns names the figure.
	maxNames = 64

	// trustAtFirst is how long a route that never brought an answer is kept in any
	// case, so that a dead backend does not make a new one for every call.
	trustAtFirst = time.Second

	defaultIdleConnTimeout     = 90 * time.Second
	defaultMaxIdleConnsPerHost = 256
)

// NewConns returns a Conns whose transports are copies of base, which later
// changes of base do not reach. nil: http.DefaultTransport with room for more
// idle connections, 256 to each backend instead of two.
func NewConns(base *http.Transport) *Conns {
	c := &Conns{template: defaultBase(), swept: time.Now()}
	if base != nil {
		c.template = clone(base)
	}
	if c.template.IdleConnTimeout == 0 {
		c.template.IdleConnTimeout = defaultIdleConnTimeout
	}
	c.targets.Store(&map[string]*target{})
	return c
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

// clone is Clone, but the copy speaks HTTP/2 if the original does: a Transport
// that has turned it on by itself leaves no trace of that in a copy, and one that
// golang.org/x/net/http2 has set up would share one set of connections with it.
func clone(t *http.Transport) *http.Transport {
	c := t.Clone()
	if t.TLSNextProto["h2"] != nil {
		c.TLSNextProto = nil
		c.ForceAttemptHTTP2 = true
	}
	return c
}

// target is one backend.
type target struct {
	backend string
	url     *url.URL
	err     error // it cannot be parsed
	used    atomic.Bool
	last    atomic.Pointer[route]           // the one used last: most have one name only
	turns   atomic.Uint64                   // how often another one became the last
	routes  atomic.Pointer[map[name]*route] // replaced as a whole
}

// name is how requests name the service: scheme and host of their URL. whole says
// that these are still in the URL when the request is sent, if the way allows it.
type name struct {
	scheme, host string
	whole        bool
}

// route is the way to one backend under one name.
type route struct {
	name
	conns  *Conns
	target *target
	via    *http.Transport
	direct bool // requests are sent as they are: via dials the backend whatever their URL says
	made   time.Time

	turn     atomic.Uint64 // of the target, when this became the last one used
	used     atomic.Bool
	retired  atomic.Bool
	open     atomic.Int64  // attempts that are not over
	left     atomic.Int64  // if retired: when it was left last, in Unix nanoseconds
	answered atomic.Uint64 // response headers received
}

// target returns the target for a backend.
func (c *Conns) target(backend string) *target {
	t, ok := (*c.targets.Load())[backend]
	if !ok {
		t = c.addTarget(backend)
	}
	if !t.used.Load() {
		t.used.Store(true)
	}
	return t
}

func (c *Conns) addTarget(backend string) *target {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.targets.Load()
	if t, ok := old[backend]; ok {
		return t
	}
	all := maps.Clone(old)
	c.sweep(all, time.Now())
	t := &target{backend: backend}
	t.url, t.err = ParseBackend(backend)
	t.routes.Store(&map[name]*route{})
	all[backend] = t
	c.targets.Store(&all)
	return t
}

// sweep drops from all what has not been used since the last sweep. The caller
// holds c.mu.
func (c *Conns) sweep(all map[string]*target, now time.Time) {
	if now.Sub(c.swept) < sweepEvery {
		return
	}
	c.swept = now
	for backend, t := range all {
		routes := maps.Clone(*t.routes.Load())
		for n, r := range routes {
			if !r.used.Swap(false) && r.open.Load() == 0 {
				delete(routes, n)
				c.retire(r)
			}
		}
		t.routes.Store(&routes)
		if len(routes) == 0 && !t.used.Swap(false) {
			delete(all, backend)
		}
	}
	c.prune()
}

// enter returns the way to a target under a name, with one more attempt open on
// it until leave is called.
func (c *Conns) enter(t *target, n name) *route {
	for {
		r := t.last.Load()
		if r == nil || r.name != n {
			var ok bool
			if r, ok = (*t.routes.Load())[n]; !ok {
				r = c.addRoute(t, n)
			}
			r.touch(t)
		}
		r.open.Add(1)
		if !r.retired.Load() {
			if !r.used.Load() {
				r.used.Store(true)
			}
			return r
		}
		r.leave()
		t.last.CompareAndSwap(r, nil)
	}
}

// touch makes r the one used last. As long as it is that, it needs no further turn.
func (r *route) touch(t *target) {
	r.turn.Store(r.target.turns.Add(1))
	t.last.Store(r)
}

func (r *route) leave() {
	if r.open.Add(-1) == 0 && r.retired.Load() {
		r.left.Store(time.Now().UnixNano())
		r.via.CloseIdleConnections()
	}
}

func (c *Conns) addRoute(t *target, n name) *route {
	c.mu.Lock()
	defer c.mu.Unlock()
	if targets := *c.targets.Load(); targets[t.backend] == nil { // just swept away
		targets = maps.Clone(targets)
		targets[t.backend] = t
		c.targets.Store(&targets)
	} else {
		t = targets[t.backend]
	}
	old := *t.routes.Load()
	if r, ok := old[n]; ok {
		return r
	}
	routes := maps.Clone(old)
	if len(routes) >= maxNames {
		var oldest *route
		for _, r := range routes {
			if oldest == nil || r.turn.Load() < oldest.turn.Load() {
				oldest = r
			}
		}
		delete(routes, oldest.name)
		c.retire(oldest)
	}
	r := &route{name: n, conns: c, target: t, made: time.Now()}
	r.turn.Store(t.turns.Add(1)) // before others can see it
	if r.direct = n.whole && c.canDial(t.url, n.scheme); r.direct {
		r.via = c.dialing(t.url, n.scheme)
	} else {
		r.via = c.addressed(t, n)
	}
	routes[n] = r
	t.routes.Store(&routes)
	return r
}

// canDial reports whether it is enough to dial the backend to in place of what a
// request's URL says: neither path nor scheme have to change, there is no proxy to
// be told of the backend, and the base's own functions dial no TLS.
func (c *Conns) canDial(to *url.URL, scheme string) bool {
	b := c.template
	if (to.Scheme != "" && to.Scheme != scheme) || (to.Path != "" && to.Path != "/") ||
		b.DialTLSContext != nil || b.DialTLS != nil || b.Dial != nil { //nolint:staticcheck // deprecated, but may be set
		return false
	}
	switch {
	case b.Proxy == nil:
		return true
	case reflect.ValueOf(b.Proxy).Pointer() == reflect.ValueOf(http.ProxyFromEnvironment).Pointer():
		// That one goes by the URL alone, so it can be asked beforehand.
		p, err := b.Proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: to.Host}})
		return p == nil && err == nil
	}
	return false
}

// dialing makes the http.Transport of a direct route: all that it dials is the
// backend, so that nothing else of a request needs to change.
func (c *Conns) dialing(to *url.URL, scheme string) *http.Transport {
	via := clone(c.template)
	via.Proxy = nil
	addr := to.Host
	if to.Port() == "" {
		addr = net.JoinHostPort(to.Hostname(), map[string]string{"http": "80", "https": "443"}[scheme])
	}
	dial := c.template.DialContext
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

// dialError marks an error by which no connection came about, so that nothing was
// sent, whatever the base's dial function returns.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// addressed makes the http.Transport of a route whose requests have the backend's
// address in their URL, for proxies and the like to go by, and the service's name
// in Host. What is missing is the TLS server name.
func (c *Conns) addressed(t *target, n name) *http.Transport {
	via := clone(c.template)
	scheme := cmp.Or(t.url.Scheme, n.scheme)
	named := via.TLSClientConfig != nil && via.TLSClientConfig.ServerName != ""
	if scheme == "https" && !named {
		if via.TLSClientConfig == nil {
			via.TLSClientConfig = &tls.Config{}
		}
		via.TLSClientConfig.ServerName = serverName(n.host)
	}
	if proxy := c.template.Proxy; proxy != nil {
		via.Proxy = func(r *http.Request) (*url.URL, error) {
			p, err := proxy(r)
			if err != nil || p == nil || (p.Scheme != "http" && p.Scheme != "https" && p.Scheme != "") {
				return p, err
			}
			switch {
			case scheme == "http" && r.URL.Opaque == "":
				// Else the request line for the proxy would be made from Host, the
				// name of the service, which is not where to go. The URL is ours.
				r.URL.Opaque = "//" + r.URL.Host + cmp.Or(r.URL.EscapedPath(), "/")
			case scheme == "https" && p.Scheme == "https":
				return nil, errors.New("lbhttp: an https proxy cannot be used for https requests: " +
					"the proxy and the backend would have to share one TLS server name; use an http or socks5 proxy")
			}
			return p, nil
		}
	}
	return via
}

// serverName is the TLS server name that http.Transport would take for host.
func serverName(host string) string {
	h := (&url.URL{Host: host}).Hostname()
	if strings.IndexFunc(h, func(r rune) bool { return r >= 0x80 }) < 0 {
		return h
	}
	// net/http does not export its IDNA conversion, but writes its result.
	var b bytes.Buffer
	req := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: h}, Header: http.Header{}}
	if req.Write(&b) == nil {
		if got, err := http.ReadRequest(bufio.NewReader(&b)); err == nil {
			return got.Host
		}
	}
	return h
}

// retire closes a route's idle connections and keeps an eye on those in use; new
// requests no longer come this way. The caller holds c.mu.
func (c *Conns) retire(r *route) {
	r.left.Store(time.Now().UnixNano())
	r.retired.Store(true)
	r.target.last.CompareAndSwap(r, nil)
	r.via.CloseIdleConnections()
	c.retired = append(c.retired, r)
	if len(c.retired) >= c.pruneAt {
		c.prune()
	}
}

// prune closes what is idle on the retired routes and forgets those that nobody
// uses any more. An HTTP/2 connection is not idle at once when its last request
// is over, so a route is kept until its idle connections have timed out. The
// caller holds c.mu.
func (c *Conns) prune() {
	before := time.Now().Add(-c.template.IdleConnTimeout).UnixNano()
	c.retired = slices.DeleteFunc(c.retired, func(r *route) bool {
		r.via.CloseIdleConnections()
		return r.open.Load() == 0 && r.left.Load() < before
	})
	c.pruneAt = 2*len(c.retired) + maxNames
}

// distrust gives up the connections of a route: a request ran into a timeout on
// it, and nothing at all has been received on it meanwhile. They may be dead
// without a sign, and HTTP/2 would put every further request on the same one.
func (c *Conns) distrust(r *route) {
	if r.answered.Load() == 0 && time.Since(r.made) < trustAtFirst {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	routes := maps.Clone(*r.target.routes.Load())
	if routes[r.name] != r {
		return
	}
	delete(routes, r.name)
	r.target.routes.Store(&routes)
	c.retire(r)
}

// CloseIdleConnections closes the connections that are not in use, those to
// backends that have left the pool included.
func (c *Conns) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range *c.targets.Load() {
		for _, r := range *t.routes.Load() {
			r.via.CloseIdleConnections()
		}
	}
	c.prune()
}

// RoundTrip implements http.RoundTripper.
func (c *Conns) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Host == "" {
		return c.template.RoundTrip(req) // which says what is wrong with it
	}
	backend, n := req.URL.Scheme+"://"+req.URL.Host, name{scheme: req.URL.Scheme, host: req.URL.Host}
	a, ours := req.Context().Value(attemptKey{}).(*attempt)
	// A base may send requests of its own in the course of one (for a token, say).
	if ours = ours && a.copy != nil && req.URL.Host == a.copy.url.Host; ours {
		backend, n = a.lease.Backend(), name{scheme: a.caller.URL.Scheme, host: a.caller.URL.Host}
	}
	t := c.target(backend)
	if t.err != nil {
		closeBody(req)
		return nil, t.err
	}
	r := c.enter(t, n)
	if ours && a.take(r) {
		return r.via.RoundTrip(req)
	}
	defer r.leave()
	return r.via.RoundTrip(req)
}

type attemptKey struct{}

func attemptContext(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}
