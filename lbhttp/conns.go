package lbhttp

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Conns holds the connections of a Transport. It has one http.Transport for each
// pair of a backend and a name that requests gave the service, since http.Transport
// tells connections apart by the host in the URL alone.
//
// For each backend up to 64 names are kept, because the clients of a proxy may
// choose them. A further name takes the place of the name used least recently. The
// idle connections of that name are closed; its requests under way go on. A client
// that calls a backend by more than 64 names in turn dials for nearly every request.
// Such a client should give the service one name in the request's URL, and put what
// the server is to see into Request.Host.
//
// A Transport makes its own Conns from Config.Base. Use Conns by itself at the
// bottom of a base that wraps a transport. If the wrapper has no
// CloseIdleConnections, call the method of the Conns. Several Transports may share
// one Conns. A request that does not come from a Transport goes where its URL says.
//
// A Conns starts no goroutine of its own; its http.Transports start theirs, some
// for each connection. It is safe for concurrent use. The zero Conns is not usable;
// make one by NewConns.
type Conns struct {
	template *http.Transport
	http2    bool // it speaks HTTP/2 over TLS

	targets atomic.Pointer[map[string]*target] // by backend, replaced as a whole

	mu      sync.Mutex // held to change targets and routes; guards what follows
	swept   time.Time
	retired []*route // may still have connections
	pruneAt int      // length of retired at which it is pruned
}

const (
	// sweepEvery is how long a backend or name must have gone unused before its
	// connections are closed. Sweeps happen only when a new backend comes up: it is
	// addresses that change that leave unused ones behind.
	sweepEvery = time.Minute

	// maxNames bounds the names of one backend. The doc of Conns has the figure.
	maxNames = 64

	// trustAtFirst is how long a route that never brought a response is kept in any
	// case, so that a dead backend does not cause a new route for every call.
	trustAtFirst = time.Second
)

// NewConns returns a Conns whose http.Transports are copies of base. Later changes
// of base do not reach them. If base is nil they are copies of
// http.DefaultTransport, with room for 256 idle connections to each backend in
// place of two.
func NewConns(base *http.Transport) *Conns {
	c := &Conns{template: newTemplate(base), swept: time.Now()}
	c.http2 = speaksHTTP2(c.template, "https")
	c.targets.Store(&map[string]*target{})
	return c
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
	t := newTarget(backend)
	all[backend] = t
	c.targets.Store(&all)
	return t
}

// enter returns the route to a target under a name, and counts one more request on
// it. The caller must call leave on the route when the request is over.
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
		if r.enter() {
			return r
		}
		t.last.CompareAndSwap(r, nil)
	}
}

func (c *Conns) addRoute(t *target, n name) *route {
	c.mu.Lock()
	defer c.mu.Unlock()
	if targets := *c.targets.Load(); targets[t.backend] == nil { // a sweep has just dropped t
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
		oldest := leastRecent(routes)
		delete(routes, oldest.name)
		c.retire(oldest)
	}
	r := newRoute(c.template, t, n)
	routes[n] = r
	t.routes.Store(&routes)
	return r
}

// distrust retires a route, because a request on it ran into a timeout and nothing
// was received on the route meanwhile. Its connections may be dead without a sign,
// and HTTP/2 would send every further request over the same one.
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

// retire retires a route that no map holds any more, and keeps it in sight until
// its connections are closed. The caller holds c.mu.
func (c *Conns) retire(r *route) {
	r.retire()
	c.retired = append(c.retired, r)
	if len(c.retired) >= c.pruneAt {
		c.prune()
	}
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

// prune closes what is idle on the retired routes, and forgets the routes that
// nobody uses any more. An HTTP/2 connection is not idle at once when its last
// request is over, so a route is kept until its idle connections have timed out.
// The caller holds c.mu.
func (c *Conns) prune() {
	before := time.Now().Add(-c.template.IdleConnTimeout).UnixNano()
	c.retired = slices.DeleteFunc(c.retired, func(r *route) bool {
		r.via.CloseIdleConnections()
		return r.open.Load() == 0 && r.left.Load() < before
	})
	c.pruneAt = 2*len(c.retired) + maxNames
}

// CloseIdleConnections closes the connections that are not in use, among them those
// to backends that have left the pool.
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
