package lbhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
)

// attempt is one lease and the one request that is sent on it. All that a request
// needs beyond the bare transport is in this one piece of memory, which lives until
// the response body is dropped. This file is its data and its end: an attempt ends
// exactly once, whoever ends it.
type attempt struct {
	t      *Transport
	lease  evenkeel.Lease[string]
	caller *http.Request // the caller's request; never changed
	copy   *sentCopy     // what is sent in its place; nil: the caller's request itself

	sent sentBody      // the caller's body; unused if that is plain
	body io.ReadCloser // the response's body

	closing atomic.Bool // the caller closes the response's body, or has closed it

	headed atomic.Bool // there was a header: status is set, and copy.seen if Config.Outcome needs it
	status int         // as it came: the caller may change its response
	stop   func() bool // ends the watch on the context; nil: there is none

	ending  sync.Mutex // held while the attempt is concluded; guards what follows
	route   *route     // the one that the attempt has entered; nil: none
	conns   *Conns     // of the route
	answers uint64     // of the route, when the attempt entered it
	over    bool

	// badTrailer says that http.Transport refuses the caller's trailer. It is set before
	// the first attempt is sent, which is then the only one.
	badTrailer bool
}

// attemptKey is the key of the attempt in the context of a request that goes
// through a custom base.
type attemptKey struct{}

func attemptContext(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt that a request belongs to, nil if it belongs to
// none.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// take gives the attempt the route that it goes by, which has been entered. It
// reports false if the attempt has a route already or is over.
func (a *attempt) take(c *Conns, r *route) bool {
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.over || a.route != nil {
		return false
	}
	a.conns, a.route, a.answers = c, r, r.answered.Load()
	return true
}

// answered counts a response header on the route.
func (a *attempt) answered() {
	a.ending.Lock()
	r := a.route
	a.ending.Unlock()
	if r != nil {
		r.answered.Add(1)
	}
}

// suspect retires the route if err is a timeout and nothing was received on the
// route since the attempt began.
func (a *attempt) suspect(err error) {
	a.ending.Lock()
	c, r, answers := a.conns, a.route, a.answers
	a.ending.Unlock()
	if r == nil || r.answered.Load() != answers {
		return
	}
	if errors.Is(a.caller.Context().Err(), context.DeadlineExceeded) || isTimeout(err) {
		c.distrust(r)
	}
}

// end ends the attempt, if it is not over; err is nil if all went well. When end
// returns the lease is over, whoever ended it.
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

// finish ends the attempt because the response's body was read to its end, which
// also brings the trailer.
func (a *attempt) finish() {
	a.ending.Lock()
	if !a.over {
		a.copy.recordTrailer()
	}
	a.ending.Unlock()
	a.end(nil)
}

// closed ends the attempt because the caller has closed the response's body. That
// is no error, unless the caller closes it because the context has ended.
func (a *attempt) closed() {
	a.end(context.Cause(a.caller.Context()))
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

// fail ends an attempt that brought no response and is not followed by another.
func (a *attempt) fail(err error) {
	a.sent.shut()
	a.end(err)
}

// abandon ends an attempt whose base panicked or called runtime.Goexit. Nothing is
// known of how it went, so no outcome is given.
func (a *attempt) abandon() {
	a.ending.Lock()
	defer a.ending.Unlock()
	if !a.over {
		a.over = true
		if a.stop != nil {
			a.stop()
		}
		a.leave()
		a.lease.Release()
	}
	a.sent.shut()
}

// conclude gives the pool the attempt's outcome and ends the lease. The caller holds
// a.ending, so that the request is not looked at after RoundTrip has returned an
// error.
func (a *attempt) conclude(err error) {
	defer a.lease.Release() // in case Config.Outcome panics
	a.leave()
	status, headed := 0, a.headed.Load()
	if headed {
		status = a.status
	}
	end := Attempt{Backend: a.lease.Backend(), Request: a.caller, Err: err}
	if err != nil && a.caller.Context().Err() == nil {
		end.CallerFailed = a.sent.failed.Load() || a.invalid()
	}
	if a.t.cfg.Outcome != nil {
		if headed {
			end.ToHeader, end.Response = a.copy.toHeader, a.copy.seen
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

// leave leaves the route. The caller holds a.ending and has set a.over.
func (a *attempt) leave() {
	if a.route != nil {
		a.route.leave()
	}
}

// invalid reports whether http.Transport refuses the caller's request, so that the
// error says nothing about the backend. It is asked only after an error.
func (a *attempt) invalid() bool { return a.badTrailer || invalid(a.caller) }
