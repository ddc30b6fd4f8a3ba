package lbhttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// take leases a backend for the attempt.
func (a *attempt) take(call evenkeel.Call[string]) (err error) {
	t := a.t
	if !t.observed() {
		a.lease, err = t.lb.LeaseFor(a.caller.Context(), call)
		return err
	}
	asked := time.Since(t.made)
	a.lease, err = t.lb.LeaseFor(a.caller.Context(), call)
	a.copy.begun = time.Since(t.made)
	a.copy.waited = a.copy.begun - asked
	return err
}

// entry is an attempt and what it brought.
type entry struct {
	a    *attempt
	resp *http.Response
	err  error
}

// end ends an attempt beside the one that is gone on with.
func (e entry) end() {
	if e.resp != nil {
		_ = e.resp.Body.Close()
	}
	e.a.fail(e.err)
}

// tried is the backends that attempts at one request were made on. A backend that
// has refused the stream has not had the request, so it may be asked again if there
// is no other: http.Transport would have done so too.
type tried struct {
	key        string // of the request
	all, acted []string
	tries      []Try // those that ended beside another attempt
}

// fail ends an attempt that failed beside another one.
func (b *tried) fail(e *entry) {
	b.tries = append(b.tries, Try{e.a.lease.Backend(), reason(e.a.status, e.err)})
	b.add(e.a.lease.Backend(), e.a.failedBy(e.err))
	e.end()
}

func (b *tried) add(backend string, failed Reason) {
	b.all = append(b.all, backend)
	if failed != ReasonRefused {
		b.acted = append(b.acted, backend)
	}
}

// lease leases a backend for a further attempt, whose particulars are in call.
func (b *tried) lease(a *attempt, call evenkeel.Call[string]) error {
	call.Key, call.Avoid = b.key, b.all
	err := a.take(call)
	switch {
	case err == nil && slices.Contains(b.all, a.lease.Backend()):
		again := a.lease.Backend()
		a.lease.Release()
		return fmt.Errorf("%w: the balancer chose %s again: its LeaseFor does not keep to Call.Avoid", evenkeel.ErrNoBackends, again)
	case errors.Is(err, evenkeel.ErrNoBackends) && len(b.acted) < len(b.all) && !call.NoWait:
		call.Avoid = b.acted
		return a.take(call)
	}
	return err
}
