package lbhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// attempt is one lease and the one request that is sent on it. What a request
// needs beyond the bare transport is in this one piece of memory, which lives
// until its response body is dropped.
type attempt struct {
	t      *Transport
	lease  evenkeel.Lease[string]
	caller *http.Request // never changed
	copy   *sentCopy     // what is sent in its place; nil: itself

	badTrailer bool // the caller's is refused by the base; set for the first attempt, then there is no other

	sent sentBody      // the caller's body; unused if that is plain
	body io.ReadCloser // the response's

	closing atomic.Bool // the caller closes the response's body, or has

	headed atomic.Bool // there was a header: status is set, and copy.seen if it is asked for
	status int         // as it came: the response itself is the caller's, to change as it likes
	stop   func() bool // ends the watch on the context; nil: that cannot end

	ending  sync.Mutex // held while the attempt is concluded; guards what follows
	over    bool
	route   *route // that it is entered on, or was; nil: none
	answers uint64 // of the route, when the attempt began
}

// sentCopy is a copy of the caller's request that can be changed, and what is asked
// only of some attempts: how long the header took and what it was, for a
// Config.Outcome; whether there was a connection, for a request that must not be sent again if it may have
// been received (without TLS, and with nothing in between, the error says that).
type sentCopy struct {
	req       http.Request
	url       url.URL
	clock     time.Duration // when it began, since Transport.made; then the time to the header
	seen      *http.Response
	trace     httptrace.ClientTrace
	traced    bool
	connected atomic.Bool
}

func (c *sentCopy) watch() { c.traced, c.trace.GotConn = true, c.gotConn }

func (c *sentCopy) gotConn(httptrace.GotConnInfo) { c.connected.Store(true) }

// newAttempt returns an attempt, in one piece with its copy if it surely needs one.
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
		both.watch()
	}
	if t.cfg.Outcome != nil {
		both.clock = time.Since(t.made)
	}
	return &both.attempt
}

// prepare returns the request that is sent: the caller's own, if it can be sent as
// it is, or else the copy.
func (a *attempt) prepare(ctx context.Context, body io.ReadCloser, to *url.URL) *http.Request {
	req := a.caller
	shim := body != nil && body != http.NoBody && (req.GetBody == nil || !plain(body, req.ContentLength))
	if a.copy == nil {
		if to == nil && !shim && body == req.Body {
			return req
		}
		a.copy = &sentCopy{}
	}
	out := &a.copy.req
	if *out = *req; ctx != req.Context() {
		*out = *req.WithContext(ctx)
	}
	if to != nil {
		a.copy.url = *req.URL
		address(&a.copy.url, to)
		out.URL = &a.copy.url
		if out.Host == "" {
			out.Host = req.URL.Host
		}
	}
	if out.Body = body; shim {
		a.shim(out)
	}
	return out
}

// run sends the request with the given body. The lease is held. What it returns
// has been seen by nobody else yet: see hand and end.
func (a *attempt) run(body io.ReadCloser) (*http.Response, error) {
	req, t := a.caller, a.t
	returned := false
	defer func() {
		if !returned { // the base panicked, or ended its goroutine
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
		a.route, a.answers = r, r.answered.Load() // nobody else knows of it yet
		via = r.via
		if r.direct {
			addr = nil
		} else if t.retries && !idempotent(req) {
			if a.copy == nil {
				a.copy = &sentCopy{}
			}
			a.copy.watch()
		}
	} else {
		ctx = attemptContext(ctx, a)
	}
	if a.copy != nil && a.copy.traced {
		ctx = httptrace.WithClientTrace(ctx, &a.copy.trace)
	}
	out := a.prepare(ctx, body, addr)
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
	if t.cfg.Outcome != nil {
		a.copy.clock = time.Since(t.made) - a.copy.clock
		a.copy.seen = asItCame(resp, req)
	}
	if r, _ := a.way(); r != nil {
		r.answered.Add(1)
	}
	resp.Request = req
	a.status = resp.StatusCode
	a.headed.Store(true)
	return resp, nil
}

// asItCame returns a copy of the status and headers of a response, for a
// Config.Outcome to look at while the caller changes its own.
func asItCame(resp *http.Response, req *http.Request) *http.Response {
	seen := *resp
	seen.Header, seen.TransferEncoding = resp.Header.Clone(), slices.Clone(resp.TransferEncoding)
	seen.Body, seen.Trailer, seen.Request = http.NoBody, nil, req
	return &seen
}

// shim puts the attempt's sentBody before the body. The base's own replays, on
// connections that the server had closed, get theirs by the request's GetBody.
func (a *attempt) shim(out *http.Request) {
	a.sent.inner, a.sent.length = out.Body, out.ContentLength
	out.Body = &a.sent
	if get := out.GetBody; get != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			again, err := get()
			if err != nil {
				a.sent.state.Or(bodyBroke)
				return nil, err
			}
			b := &resentBody{sentBody: sentBody{inner: again, length: a.sent.length}, first: &a.sent}
			b.settle()
			return b, nil
		}
	}
}

// take notes the route that the attempt goes by; it is entered. False: it has
// one, or is over.
func (a *attempt) take(r *route) bool {
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.over || a.route != nil {
		return false
	}
	a.route, a.answers = r, r.answered.Load()
	return true
}

// way returns the route, nil if there is none, and how often it had been answered
// on when the attempt began.
func (a *attempt) way() (*route, uint64) {
	a.ending.Lock()
	defer a.ending.Unlock()
	return a.route, a.answers
}

// suspect gives up the connections of a route that a request got no sign of life
// from until its time was up.
func (a *attempt) suspect(err error) {
	r, answers := a.way()
	if r == nil || r.answered.Load() != answers {
		return
	}
	if errors.Is(a.caller.Context().Err(), context.DeadlineExceeded) || isTimeout(err) {
		r.conns.distrust(r)
	}
}

// hand makes the response the caller's. The attempt is over when its body is.
func (a *attempt) hand(resp *http.Response) *http.Response {
	a.sent.settle()
	switch {
	case resp.Body == nil || resp.Body == http.NoBody || bodiless(a.caller.Method, resp):
		a.end(nil)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		a.body = resp.Body
		if rw, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &upgraded{respBody: (*respBody)(a), rw: rw}
		} else {
			resp.Body = (*respBody)(a)
		}
	default:
		a.body = resp.Body
		resp.Body = (*respBody)(a)
	}
	return resp
}

// fail ends an attempt that brought no response and is not made again.
func (a *attempt) fail(err error) {
	if a.sent.inner != nil {
		a.sent.settle()
		_ = a.sent.Close()
	}
	a.end(err)
}

// bodiless reports whether a response can have no body.
func bodiless(method string, resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusNoContent, http.StatusNotModified:
		return true
	}
	return method == http.MethodHead
}

// end ends the attempt, once: err is nil if all went well. When it returns the
// lease is over, whoever ended it.
func (a *attempt) end(err error) {
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.over {
		return
	}
	a.over = true
	if a.stop != nil {
		a.stop()
	}
	a.conclude(err)
}

// expire ends the attempt because the request's context has ended.
func (a *attempt) expire() {
	a.ending.Lock()
	defer a.ending.Unlock()
	if !a.over {
		a.over = true
		a.conclude(context.Cause(a.caller.Context()))
	}
}

// conclude tells the pool how the attempt went. The caller holds a.ending, so
// that the request is not looked at once RoundTrip has returned an error.
func (a *attempt) conclude(err error) {
	defer a.lease.Release() // if the user's rule panics
	a.depart()
	status, headed := 0, a.headed.Load()
	if headed {
		status = a.status
	}
	end := Attempt{Backend: a.lease.Backend(), Request: a.caller, Err: err}
	if err != nil && a.caller.Context().Err() == nil {
		end.CallerFailed = a.sent.broke() || a.invalid()
	}
	if a.t.cfg.Outcome != nil {
		if headed {
			end.Header, end.Response = a.copy.clock, a.copy.seen
		}
		a.lease.DoneAs(a.t.cfg.Outcome(end), reason(status, err))
		return
	}
	switch how := outcome(end, status); how {
	case evenkeel.OutcomeSuccess, evenkeel.OutcomeNeutral:
		a.lease.DoneAs(how, nil)
	default:
		a.lease.DoneAs(how, reason(status, err))
	}
}

// depart leaves the route. The caller holds a.ending and has set a.over.
func (a *attempt) depart() {
	if a.route != nil {
		a.route.leave()
	}
}

// abandon ends an attempt that was left by a panic: nothing is known of how it
// went.
func (a *attempt) abandon() {
	a.ending.Lock()
	defer a.ending.Unlock()
	if !a.over {
		a.over = true
		if a.stop != nil {
			a.stop()
		}
		a.depart()
		a.lease.Release()
	}
	if a.sent.inner != nil {
		a.sent.settle()
		_ = a.sent.Close()
	}
}

// respBody is an attempt as the body of its response.
type respBody attempt

// Read implements io.Reader.
func (b *respBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil {
		b.ended(err)
	}
	return n, err
}

func (b *respBody) ended(err error) {
	a := (*attempt)(b)
	switch {
	case err == io.EOF:
		a.end(nil)
	case a.closing.Load(): // which is why
		a.closed()
	default:
		a.end(err)
	}
}

// closed ends the attempt because the caller has closed the body.
func (a *attempt) closed() {
	a.end(context.Cause(a.caller.Context())) // closed early is fine, unless it is why
}

// Close implements io.Closer.
func (b *respBody) Close() error {
	a := (*attempt)(b)
	a.closing.Store(true) // first: a Read that this wakes up must know
	err := b.body.Close()
	a.closed()
	return err
}

// upgraded is the body of a 101 response: a stream both ways, in flight until it
// is closed, since one side may end before the other.
type upgraded struct {
	*respBody
	rw io.ReadWriteCloser
}

// Read implements io.Reader.
func (u *upgraded) Read(p []byte) (int, error) {
	n, err := u.rw.Read(p)
	if err != nil && err != io.EOF {
		u.ended(err)
	}
	return n, err
}

// Write implements io.Writer.
func (u *upgraded) Write(p []byte) (int, error) { return u.rw.Write(p) }

// CloseWrite ends the writing side, where the base's stream can do so.
func (u *upgraded) CloseWrite() error {
	if c, ok := u.rw.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return http.ErrNotSupported
}
