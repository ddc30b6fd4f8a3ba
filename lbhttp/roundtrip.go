package lbhttp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/evenkeel-go/evenkeel"
)

// RoundTrip implements http.RoundTripper. The error is that of Lease if no backend
// could be leased for the first attempt, and an [Error] if one or more attempts
// failed. After an error nothing is in flight.
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
	resp, err := a.send(req.Body)
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

// again continues after a first attempt that brought an error or an unwelcome
// response. It asks other backends as far as the rules of Retry allow.
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
			next.lease, lerr = t.lb.LeaseFor(a.caller.Context(), evenkeel.Call[string]{Avoid: tried})
		}
		if lerr != nil {
			t.budget.refund()
			if body != nil {
				_ = body.Close()
			}
			if resp != nil && !gaveUp(a.caller) {
				return resp, nil // the last answer stands; its lease has ended
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
		if resp, err = a.send(body); err == nil && !t.unwelcome(resp) {
			return a.hand(resp), nil
		}
	}
}

// causeOf is the cause in an Error whose further attempt got no lease: lerr, unless
// that only says that all backends were tried.
func causeOf(req *http.Request, lerr error) error {
	if errors.Is(lerr, evenkeel.ErrNoBackends) && !gaveUp(req) {
		return nil
	}
	return lerr
}
