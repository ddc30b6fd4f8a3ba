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
	t.budget.Count()
	a := t.newAttempt(req, 1, ReasonFirst)
	a.badTrailer = len(req.Trailer) > 0 && badTrailer(req.Trailer)
	call := evenkeel.Call[string]{}
	if t.cfg.Key != nil {
		call.Key = t.cfg.Key(req)
	}
	if err := a.take(call); err != nil {
		t.figures.unleased.Add(1)
		closeBody(req)
		return nil, err
	}
	avoid := tried{key: call.Key}
	var got entry
	if t.mayHedge(req) {
		var failed *entry
		if got, failed = t.hedged(a, call.Key); failed != nil {
			avoid.fail(failed)
		}
	} else {
		got.a = a
		got.resp, got.err = a.send(req.Body)
	}
	if got.err == nil && !t.unwelcome(got.resp) {
		return got.a.hand(got.resp), nil
	}
	return t.again(got.a, got.resp, got.err, avoid)
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
func (t *Transport) again(a *attempt, resp *http.Response, err error, avoid tried) (*http.Response, error) {
	tries := avoid.tries
	for {
		tries = append(tries, Try{a.lease.Backend(), reason(a.status, err)})
		next, stopped, ok := t.mayRetry(a, resp, err, len(tries))
		if !ok {
			if resp != nil {
				return a.hand(resp), nil
			}
			a.fail(err)
			return nil, &Error{Tries: tries, Stopped: stopped}
		}
		a.sent.settle()
		a.settle(err)
		avoid.add(a.lease.Backend(), next.why)

		following := t.newAttempt(a.caller, len(tries)+1, next.why)
		if lerr := avoid.lease(following, evenkeel.Call[string]{}); lerr != nil {
			t.budget.Refund()
			if next.body != nil {
				_ = next.body.Close()
			}
			if resp != nil && !gaveUp(a.caller) {
				return resp, nil // the last answer stands; its lease has ended
			}
			if resp != nil {
				_ = resp.Body.Close()
			}
			return nil, &Error{Tries: tries, Stopped: "no further attempt: " + lerr.Error(), cause: causeOf(a.caller, lerr)}
		}
		t.figures.retried(next.why)
		if resp != nil {
			drain(resp.Body)
		}
		a = following
		if resp, err = a.send(next.body); err == nil && !t.unwelcome(resp) {
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
