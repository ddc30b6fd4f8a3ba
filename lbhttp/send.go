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
func (t *Transport) newAttempt(req *http.Request) *attempt {
	traced := t.base == nil && t.retries && req.URL.Scheme == "https" && !idempotent(req)
	if t.base == nil && !traced && t.cfg.Outcome == nil {
		return &attempt{t: t, caller: req}
	}
	both := &struct {
		attempt
		sentCopy
	}{attempt: attempt{t: t, caller: req}}
	both.copy = &both.sentCopy
	if traced {
		both.trackConn()
	}
	if t.cfg.Outcome != nil {
		both.begun = time.Since(t.made)
	}
	return &both.attempt
}

// prepare returns the request that is sent: the caller's own if that can be sent
// unchanged, or else the copy.
func (a *attempt) prepare(ctx context.Context, body io.ReadCloser, to *url.URL) *http.Request {
	req := a.caller
	watched := body != nil && body != http.NoBody && (req.GetBody == nil || !plain(body, req.ContentLength))
	if a.copy == nil {
		if to == nil && !watched && body == req.Body {
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
	ctx, via, addr := req.Context(), t.base, to.url
	if via == nil {
		r := t.conns.enter(to, name{req.URL.Scheme, req.URL.Host, true})
		a.conns, a.route, a.answers = t.conns, r, r.answered.Load() // without the lock: the attempt is not shared yet
		via = r.via
		if r.direct {
			addr = nil
		} else if t.retries && !idempotent(req) {
			if a.copy == nil {
				a.copy = &sentCopy{}
			}
			a.copy.trackConn()
		}
	} else {
		ctx = attemptContext(ctx, a)
	}
	out := a.prepare(a.copy.traceIn(ctx), body, addr)
	if ctx.Done() != nil {
		a.stop = context.AfterFunc(req.Context(), a.expire)
	}

	resp, err := via.RoundTrip(out)
	returned = true
	switch {
	case err != nil:
		if resp != nil && resp.Body != nil {
			_ = resp.Body.Close()
		}
		a.suspect(err)
		return nil, err
	case resp == nil:
		return nil, errNothing
	}
	a.answered()
	if t.cfg.Outcome != nil {
		a.copy.record(resp, req, time.Since(t.made))
	}
	resp.Request = req
	a.status = resp.StatusCode
	a.headed.Store(true)
	return resp, nil
}
