package lbhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Balancer is what a Transport needs of a balancer: that of every policy package,
// over a pool of strings, is one. Retries need one method more, see [Retry].
type Balancer interface {
	Lease(ctx context.Context) (evenkeel.Lease[string], error)
}

// exceptBalancer can choose among the backends that were not tried yet.
type exceptBalancer interface {
	LeaseExcept(ctx context.Context, tried ...string) (evenkeel.Lease[string], error)
}

// Transport is an http.RoundTripper that sends each request to a backend of its
// balancer's choice. It keeps the contract of http.RoundTripper: the request is
// not modified and its body always closed, either a response or an error is
// returned, and the response's Request is the caller's. It is safe for concurrent
// use. Make it by NewTransport or NewWith; the zero Transport refuses every
// request with an error that matches evenkeel.ErrBadConfig.
type Transport struct {
	lb      Balancer
	except  exceptBalancer    // nil: lb is none
	base    http.RoundTripper // nil: straight to conns
	conns   *Conns
	cfg     Config
	retries bool // at all
	budget  budget
	made    time.Time
}

// NewTransport returns a Transport over lb with the recommended set-up. If lb is
// nil, or a nil pointer, every request fails with an error that matches
// evenkeel.ErrBadConfig.
func NewTransport(lb Balancer) *Transport {
	t, err := newTransport(lb, Config{})
	if err != nil { // only a nil lb: said by every request
		return &Transport{}
	}
	return t
}

// NewWith returns a Transport as cfg says. The error matches
// evenkeel.ErrBadConfig; evenkeel.ErrBadConfig if lb is nil or a nil pointer; or
// evenkeel.ErrBadBackend if lb has a method Pool, as evenkeel's balancers have,
// and a member of that pool is not one that ParseBackend can read. A backend that
// joins later is checked when a request comes to it: that attempt fails, and the
// backend is not healthy.
func NewWith(lb Balancer, cfg Config) (*Transport, error) {
	t, err := newTransport(lb, cfg)
	if err != nil {
		return nil, err
	}
	if p, ok := lb.(interface{ Pool() *evenkeel.Pool[string] }); ok && p.Pool() != nil {
		for backend := range p.Pool().All() {
			if _, err := ParseBackend(backend); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

var errNoBalancer = fmt.Errorf("%w: the lbhttp.Transport has no balancer; make it with NewTransport", evenkeel.ErrBadConfig)

func newTransport(lb Balancer, cfg Config) (*Transport, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(lb); !v.IsValid() || (v.Kind() == reflect.Pointer && v.IsNil()) {
		return nil, errNoBalancer // not at the first request, in the balancer's own code
	}
	t := &Transport{lb: lb, cfg: cfg}
	t.cfg.Retry.Statuses = slices.Clone(cfg.Retry.Statuses)
	t.except, _ = lb.(exceptBalancer)
	t.retries = !cfg.Retry.Off && t.except != nil && cfg.Retry.Attempts > 1
	t.made = time.Now()
	t.budget.init(cfg.Retry.Share, cfg.Retry.PerSecond, t.made)
	switch base := cfg.Base.(type) {
	case nil:
		t.conns = NewConns(nil)
	case *http.Transport:
		t.conns = NewConns(base)
	case *Conns:
		t.conns = base
	default:
		t.conns = NewConns(nil) // for its addresses
		t.base = base
	}
	return t, nil
}

// CloseIdleConnections closes the connections that are not in use: those to
// backends that have left the pool included, and those of a base that has this
// method. http.Client's method of the same name calls it.
func (t *Transport) CloseIdleConnections() {
	if t.conns != nil {
		t.conns.CloseIdleConnections()
	}
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper. The error is that of Lease if no
// backend could be leased, and an [Error] if one or more failed.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.refuse(req); err != nil {
		closeBody(req)
		return nil, err
	}
	if t.retries {
		t.budget.requests.Add(1)
	}
	a := t.newAttempt(req)
	a.badTrailer = len(req.Trailer) > 0 && badTrailer(req.Trailer)
	var err error
	if a.lease, err = t.lb.Lease(req.Context()); err != nil {
		closeBody(req)
		return nil, err
	}
	resp, err := a.run(req.Body)
	if err == nil && !t.unwelcome(resp) {
		return a.hand(resp), nil
	}
	return t.again(a, resp, err)
}

// refuse finds what is wrong with a request before a backend is leased.
func (t *Transport) refuse(req *http.Request) error {
	switch {
	case t.lb == nil:
		return errNoBalancer
	case req.URL == nil:
		return errors.New("lbhttp: nil Request.URL")
	case req.Header == nil:
		return errors.New("lbhttp: nil Request.Header")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("lbhttp: unsupported protocol scheme %q", req.URL.Scheme)
	case req.URL.Host == "":
		return errors.New("lbhttp: no Host in request URL; it names the service, as in http://orders/items")
	}
	return nil
}

// unwelcome reports whether another backend should be asked instead.
func (t *Transport) unwelcome(resp *http.Response) bool {
	return t.retries && resp.StatusCode >= 400 &&
		(resp.StatusCode == http.StatusMisdirectedRequest || slices.Contains(t.cfg.Retry.Statuses, resp.StatusCode))
}

// again takes over after a first attempt that brought an error or an unwelcome
// response, and tries others as far as the rules of Retry go.
func (t *Transport) again(a *attempt, resp *http.Response, err error) (*http.Response, error) {
	var (
		tries []Try
		tried []string
	)
	for {
		backend := a.lease.Backend()
		tries = append(tries, Try{backend, reason(a.status, err)})
		body, wait, stopped, ok := t.mayRetry(a, resp, err, len(tries))
		if !ok {
			if resp != nil {
				return a.hand(resp), nil
			}
			a.fail(err)
			return nil, &Error{Tries: tries, Stopped: stopped}
		}
		a.sent.settle()
		a.end(err)
		tried = append(tried, backend)

		next := t.newAttempt(a.caller)
		lerr := sleep(a.caller, wait)
		if lerr == nil {
			next.lease, lerr = t.except.LeaseFor(a.caller.Context(), evenkeel.Call[string]{Avoid: tried})
		}
		if lerr != nil {
			t.budget.refund()
			if body != nil {
				_ = body.Close()
			}
			if resp != nil && !gaveUp(a.caller) {
				return resp, nil // the last word, though its lease has ended
			}
			if resp != nil {
				_ = resp.Body.Close()
			}
			return nil, &Error{Tries: tries, Stopped: "no further attempt: " + lerr.Error(), cause: causeOf(a.caller, lerr)}
		}
		if resp != nil {
			drain(resp.Body)
		}
		a = next
		if resp, err = a.run(body); err == nil && !t.unwelcome(resp) {
			return a.hand(resp), nil
		}
	}
}

// causeOf is what an Error says beside its tries: why there is no further
// attempt, unless that is only that all backends were tried.
func causeOf(req *http.Request, lerr error) error {
	if errors.Is(lerr, evenkeel.ErrNoBackends) && !gaveUp(req) {
		return nil
	}
	return lerr
}
