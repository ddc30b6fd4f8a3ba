package lbhttp

import (
	"cmp"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

// target is one backend and the routes to it.
type target struct {
	backend string
	url     *url.URL
	err     error // the backend cannot be parsed
	used    atomic.Bool
	last    atomic.Pointer[route]           // the route used last: most targets have only one
	turns   atomic.Uint64                   // how often last was replaced
	routes  atomic.Pointer[map[name]*route] // replaced as a whole
}

func newTarget(backend string) *target {
	t := &target{backend: backend}
	t.url, t.err = ParseBackend(backend)
	t.routes.Store(&map[name]*route{})
	return t
}

// name is how requests name the service: scheme and host of their URL. If whole,
// the URL that is sent still has them, where the route allows it.
type name struct {
	scheme, host string
	whole        bool
}

// route is one http.Transport, with the connections to one backend under one name.
type route struct {
	name
	target *target
	via    *http.Transport
	direct bool // requests are sent unchanged: via dials the backend whatever their URL says
	http2  bool // HTTP/2 may be spoken
	plain  bool // without TLS
	made   time.Time

	turn     atomic.Uint64 // value of target.turns when this route became the last one used
	used     atomic.Bool   // since the last sweep
	retired  atomic.Bool   // no new request goes this way
	open     atomic.Int64  // requests that are under way
	left     atomic.Int64  // if retired: when the last request left, in Unix nanoseconds
	answered atomic.Uint64 // response headers received
}

// newRoute returns the route of a name to t, over copies of template.
func newRoute(template *http.Transport, t *target, n name) *route {
	r := &route{name: n, target: t, made: time.Now()}
	sent := cmp.Or(t.url.Scheme, n.scheme)
	r.http2, r.plain = speaksHTTP2(template, sent), sent == "http"
	r.turn.Store(t.turns.Add(1))
	if r.direct = n.whole && canDial(template, t.url, n.scheme, n.host); r.direct {
		r.via = direct(template, t.url, n.scheme)
	} else {
		r.via = addressed(template, t.url, n.scheme, n.host)
	}
	return r
}

// touch makes r the route of t that was used last. It is not needed while r is that
// already.
func (r *route) touch(t *target) {
	r.turn.Store(r.target.turns.Add(1))
	t.last.Store(r)
}

// enter counts one more request that is under way until leave is called. It
// reports false, and counts nothing, if the route is retired.
func (r *route) enter() bool {
	r.open.Add(1)
	if r.retired.Load() {
		r.leave()
		return false
	}
	if !r.used.Load() {
		r.used.Store(true)
	}
	return true
}

func (r *route) leave() {
	if r.open.Add(-1) == 0 && r.retired.Load() {
		r.left.Store(time.Now().UnixNano())
		r.via.CloseIdleConnections()
	}
}

// retire stops new requests from going this way and closes the idle connections.
// Requests under way go on.
func (r *route) retire() {
	r.left.Store(time.Now().UnixNano())
	r.retired.Store(true)
	r.target.last.CompareAndSwap(r, nil)
	r.via.CloseIdleConnections()
}

// leastRecent returns the route that was used least recently.
func leastRecent(routes map[name]*route) *route {
	var oldest *route
	for _, r := range routes {
		if oldest == nil || r.turn.Load() < oldest.turn.Load() {
			oldest = r
		}
	}
	return oldest
}
