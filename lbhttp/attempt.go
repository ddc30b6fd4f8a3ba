package lbhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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

	tracked bool        // the attempt goes on until the response's body is closed
	closing atomic.Bool // the caller closes the response's body, or has closed it

	headed atomic.Bool   // there was a header: what follows is set, and copy.seen if somebody asks for it
	status int           // as it came: the caller may change its response
	busy   bool          // the backend said so
	wait   time.Duration // and for how long it asks not to be called
	stop   func() bool   // ends the watch on the context; nil: there is none

	number int    // among the attempts at the request, from 1
	why    Reason // why it is made

	ending  sync.Mutex // guards what follows; no function of the user's runs under it
	own     *ownContext
	route   *route   // the one that the attempt has entered; nil: none
	conns   *Conns   // of the route
	answers uint64   // of the route, when the attempt entered it
	over    bool     // somebody has claimed the end
	verdict *verdict // the caller's, nil if it has none; not changed once over is set

	// concluding is held by whoever has claimed the end, until the lease is over.
	concluding sync.Mutex

	// badTrailer says that http.Transport refuses the caller's trailer. It is set before
	// the first attempt is sent, which is then the only one.
	badTrailer bool
}

// claim makes the caller the one that ends the attempt, which conclude or abandon
// must follow. It reports false if there is one already.
func (a *attempt) claim() bool {
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.over {
		return false
	}
	a.over = true
	a.concluding.Lock()
	return true
}

// unwatch ends the watch on the caller's context. expire must not call it: the
// watch may begin to act before it is known.
func (a *attempt) unwatch() {
	if a.stop != nil {
		a.stop()
	}
}

// end ends the attempt, if it is not over; err is nil if all went well. It does not
// wait for another goroutine that ends the attempt: that one may be in a function of
// the user's, which may have led here.
func (a *attempt) end(err error) {
	if a.claim() {
		a.unwatch()
		a.conclude(err)
	}
}

// settle is end, and waits: when it returns the lease is over, whoever ended it.
func (a *attempt) settle(err error) {
	a.end(err)
	a.concluding.Lock()
	a.concluding.Unlock() //nolint:staticcheck // nothing is guarded: the end is waited for
}

// finish ends the attempt because the response's body was read to its end.
func (a *attempt) finish() {
	if a.claim() {
		a.unwatch()
		a.conclude(nil)
	}
}

// recordTrailer keeps the trailer, which the base sets when the body has been read to
// its end.
func (a *attempt) recordTrailer() {
	a.ending.Lock()
	defer a.ending.Unlock()
	if !a.over {
		a.copy.recordTrailer()
	}
}

// closed ends the attempt because the caller has closed the response's body. That
// is no error, unless the caller closes it because the context has ended.
func (a *attempt) closed() { a.end(context.Cause(a.caller.Context())) }

// expire ends the attempt because the request's context has ended.
func (a *attempt) expire() {
	if a.claim() {
		a.conclude(context.Cause(a.caller.Context()))
	}
}

// fail ends an attempt that brought no response and is not followed by another.
func (a *attempt) fail(err error) {
	a.sent.shut()
	a.settle(err)
}

// abandon ends an attempt whose base panicked or called runtime.Goexit. Nothing is
// known of how it went, so no outcome is given.
func (a *attempt) abandon() {
	if a.claim() {
		a.unwatch()
		a.leave()
		a.lease.Release()
		a.concluding.Unlock()
	}
	a.sent.shut()
}

// conclude gives the pool the attempt's outcome and ends the lease. The caller has
// claimed the end. RoundTrip waits for it, so that the request is not looked at after
// RoundTrip has returned an error.
func (a *attempt) conclude(err error) {
	defer a.concluding.Unlock()
	defer a.lease.Release() // in case a function of the user's panics
	a.leave()
	if err == nil && a.plainlyWell() {
		a.lease.DoneAs(evenkeel.OutcomeSuccess, nil)
		return
	}
	end := a.ended(err)
	how, why := a.judge(end)
	a.lease.DoneAs(how, why)
	if observe := a.t.cfg.OnAttempt; observe != nil {
		end.Outcome = how
		observe(end)
	}
}

// plainlyWell reports whether an attempt that ended without an error is a success
// that nobody asks about, which most are.
func (a *attempt) plainlyWell() bool {
	return a.status >= 200 && a.status < 400 && a.verdict == nil && !a.t.observed()
}

// ended describes the attempt at its end.
func (a *attempt) ended(err error) Attempt {
	end := Attempt{Backend: a.lease.Backend(), Request: a.caller, Err: err, Number: a.number, Reason: a.why}
	if err != nil && a.caller.Context().Err() == nil {
		end.CallerFailed = a.sent.failed.Load() || a.invalid()
	}
	headed := a.headed.Load()
	if headed {
		end.Status, end.Busy, end.RetryAfter = a.status, a.busy, a.wait
	}
	if a.t.observed() {
		end.LeaseWait, end.ToConn, end.Total = a.copy.waited, time.Duration(a.copy.got.Load()), time.Since(a.t.made)-a.copy.begun
		if headed {
			end.ToHeader, end.Response = a.copy.toHeader, a.copy.seen
		}
	}
	return end
}

// judge returns the outcome of an attempt that ended so, and the reason to keep.
func (a *attempt) judge(end Attempt) (how evenkeel.Outcome, why error) {
	if v := a.verdict; v != nil {
		return v.outcome, v.err
	}
	if errors.Is(end.Err, errOvertaken) {
		return evenkeel.OutcomeNeutral, nil
	}
	if a.t.cfg.Outcome != nil {
		how = a.t.cfg.Outcome(end)
	} else {
		how = DefaultOutcome(end)
	}
	switch why = reason(end.Status, end.Err); how {
	case evenkeel.OutcomeSuccess, evenkeel.OutcomeNeutral:
		return how, nil
	case evenkeel.OutcomeOverloaded:
		return how, &evenkeel.BusyError{RetryAfter: end.RetryAfter, Err: why}
	}
	return how, why
}

// report keeps the caller's word, if the attempt is not over.
func (a *attempt) report(v *verdict) bool {
	a.ending.Lock()
	defer a.ending.Unlock()
	if !a.over {
		a.verdict = v
	}
	return !a.over
}

// leave leaves the route and ends the attempt's own context. The caller has claimed
// the end.
func (a *attempt) leave() {
	if a.route != nil { // it does not change any more
		a.route.leave()
	}
	a.own.end(context.Canceled)
}

// invalid reports whether http.Transport refuses the caller's request, so that the
// error says nothing about the backend. It is asked only after an error.
func (a *attempt) invalid() bool { return a.badTrailer || invalid(a.caller) }
