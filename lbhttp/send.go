package lbhttp

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"
)

// newAttempt returns an attempt at a request. If the attempt surely needs a copy of
// the request, both are in one piece of memory.
func (t *Transport) newAttempt(req *http.Request, number int, why Reason) *attempt {
	traced := t.base == nil && t.retries && req.URL.Scheme == "https" && (t.conns.http2 || !idempotent(req))
	if t.base == nil && !traced && !t.observed() {
		return &attempt{t: t, caller: req, number: number, why: why}
	}
	both := &struct {
		attempt
		sentCopy
	}{attempt: attempt{t: t, caller: req, number: number, why: why}}
	both.copy = &both.sentCopy
	return &both.attempt
}

// prepare returns the request that is sent: the caller's own if that can be sent
// unchanged, or else the copy.
func (a *attempt) prepare(ctx context.Context, body io.ReadCloser, to *url.URL) *http.Request {
	req := a.caller
	watched := body != nil && body != http.NoBody && (req.GetBody == nil || !plain(body, req.ContentLength))
	if a.copy == nil {
		if to == nil && !watched && body == req.Body && ctx == req.Context() {
			return req
		}
		a.copy = &sentCopy{}
	}
	out := a.copy.of(ctx, req, to)
	if out.Body = body; watched {
		a.sent.replace(out)
	}
	return out
}

// send sends the request with the given body. The lease is held. Nobody else has
// seen the result: see hand and end.
func (a *attempt) send(body io.ReadCloser) (*http.Response, error) {
	req, t := a.caller, a.t
	returned := false
	defer func() {
		if !returned { // the base panicked or ended its goroutine
			a.abandon()
		}
	}()
	to := t.conns.target(a.lease.Backend())
	if to.err != nil {
		a.prepare(req.Context(), body, nil)
		returned = true
		return nil, to.err
	}
	via, addr := t.base, to.url
	var ctx context.Context
	if via == nil {
		r := t.conns.enter(to, name{req.URL.Scheme, req.URL.Host, true})
		a.conns, a.route, a.answers = t.conns, r, r.answered.Load() // without the lock: the attempt is not shared yet
		if via = r.via; r.direct {
			addr = nil
		}
		ctx = a.watch(a.isolate(r), r)
	} else {
		ctx = attemptContext(a.isolate(nil), a)
	}
	out := a.prepare(ctx, body, addr)
	if req.Context().Done() != nil {
		a.stop = context.AfterFunc(req.Context(), a.expire)
	}

	resp, err := a.roundTrip(via, out)
	returned = true
	if err != nil {
		a.suspect(err)
		return nil, err
	}
	a.answered()
	t.cfg.Reports.readReport(&a.lease, resp.Header)
	if t.observed() {
		a.copy.record(resp, req, time.Since(t.made))
	}
	resp.Request = req
	if a.status = resp.StatusCode; a.status >= 400 {
		a.busy, a.wait = refusal(resp, time.Now())
	}
	a.headed.Store(true)
	return resp, nil
}

// roundTrip sends the request by way of the base, within the attempt's timeout. It
// returns either a response or an error.
func (a *attempt) roundTrip(via http.RoundTripper, out *http.Request) (*http.Response, error) {
	inTime := func() bool { return true }
	if d := a.t.cfg.Retry.AttemptTimeout; d > 0 {
		inTime = a.own.within(d)
	}
	resp, err := via.RoundTrip(out)
	if err == nil && resp == nil {
		err = errNothing
	}
	if !inTime() && err == nil {
		err = a.own.cause()
	}
	if err == nil {
		return resp, nil
	}
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	// What ended the attempt's own context is the cause, unless the caller's context
	// is: that one passes its cause on.
	if cause := a.own.cause(); cause != nil && a.caller.Context().Err() == nil {
		err = cause
	}
	return nil, err
}
