package lbhttp

import (
	"net/http"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/budget"
)

// Transport is an http.RoundTripper that sends each request to a backend of its
// balancer's choice. It keeps the contract of http.RoundTripper: it does not modify
// the request and always closes its body, it returns either a response or an error,
// and the response's Request is the caller's. A Transport is safe for concurrent
// use. Make one by NewTransport or NewWith; the zero Transport refuses every request
// with an error that matches evenkeel.ErrBadConfig.
type Transport struct {
	lb      evenkeel.Balancer[string]
	base    http.RoundTripper // nil: requests go straight to conns
	conns   *Conns
	cfg     Config
	retries bool           // there may be more than one attempt
	budget  *budget.Budget // of retries
	figures figures
	hedges  *budget.Budget
	delays  delays // of requests that may be hedged
	made    time.Time
}

// NewTransport returns a Transport over lb with the recommended set-up. If lb is
// nil, or a nil pointer, every request fails with an error that matches
// evenkeel.ErrBadConfig.
func NewTransport(lb evenkeel.Balancer[string]) *Transport {
	t, err := newTransport(lb, Config{})
	if err != nil { // lb is nil, which every request reports
		return &Transport{}
	}
	return t
}

// NewWith returns a Transport with the set-up of cfg. Its error matches
//
//   - evenkeel.ErrBadConfig if a field of cfg is out of range, or lb is nil or a nil
//     pointer;
//   - evenkeel.ErrBadBackend if lb has a method Pool, as the balancers of this module
//     have, and ParseBackend refuses a member of that pool, or two members are the
//     same server, as http://a and http://A:80/ are; the error then matches
//     evenkeel.ErrDuplicate too.
//
// A backend that joins later is parsed when a request comes to it. If ParseBackend
// refuses it, that attempt fails and counts against the backend.
func NewWith(lb evenkeel.Balancer[string], cfg Config) (*Transport, error) {
	t, err := newTransport(lb, cfg)
	if err != nil {
		return nil, err
	}
	if err := checkMembers(lb); err != nil {
		return nil, err
	}
	return t, nil
}

func newTransport(lb evenkeel.Balancer[string], cfg Config) (*Transport, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg.Retry.Statuses = slices.Clone(cfg.Retry.Statuses)
	if isNil(lb) {
		return nil, errNoBalancer
	}
	t := &Transport{lb: lb, cfg: cfg, made: time.Now()}
	t.retries = !cfg.Retry.Off && cfg.Retry.Attempts > 1
	t.budget = budget.New(cfg.Retry.Share, cfg.Retry.PerSecond, t.made)
	t.hedges = budget.New(cfg.Hedge.Share, 0, t.made)
	switch base := cfg.Base.(type) {
	case nil:
		t.conns = NewConns(nil)
	case *http.Transport:
		t.conns = NewConns(base)
	case *Conns:
		t.conns = base
	default:
		t.conns = NewConns(nil) // only parses and remembers backends
		t.base = base
	}
	return t, nil
}

// Stats returns what the Transport has done so far. Each figure is right, but they
// are not of the same instant.
func (t *Transport) Stats() Stats { return t.figures.stats(t.budget.Calls()) }

// observed reports whether somebody asks how each attempt went.
func (t *Transport) observed() bool { return t.cfg.Outcome != nil || t.cfg.OnAttempt != nil }

// CloseIdleConnections closes the connections that are not in use, among them those
// to backends that have left the pool. If Config.Base has a method of this name, it
// is called too. http.Client.CloseIdleConnections calls this method.
func (t *Transport) CloseIdleConnections() {
	if t.conns != nil {
		t.conns.CloseIdleConnections()
	}
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
