package lbhttp

import (
	"context"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
)

// A Tracker follows one request: it says which backend answered, and takes the
// caller's word on an answer whose failure stands in its body. Make one by Track. It
// is safe for concurrent use. If the requests under its context are several, such as
// the hops of a redirect, it is about the last one.
type Tracker struct{ last atomic.Pointer[attempt] }

// Track returns a context to send a request with, and the Tracker of that request:
//
//	ctx, tracker := lbhttp.Track(ctx)
//
// A request that is tracked is in flight until its response body is closed, not only
// read to its end, so that the caller has time to look at what it has read. The caller
// must close the body.
func Track(ctx context.Context) (context.Context, *Tracker) {
	t := &Tracker{}
	return context.WithValue(ctx, trackerKey{}, t), t
}

type trackerKey struct{}

func trackerOf(ctx context.Context) *Tracker {
	t, _ := ctx.Value(trackerKey{}).(*Tracker)
	return t
}

// Backend returns the backend that brought the response, "" before there is one.
func (t *Tracker) Backend() string {
	if a := t.last.Load(); a != nil {
		return a.lease.Backend()
	}
	return ""
}

// Attempts returns how many attempts were made, the one that brought the response
// included; 0 before there is a response.
func (t *Tracker) Attempts() int {
	if a := t.last.Load(); a != nil {
		return a.number
	}
	return 0
}

// Report says how the request went, for a caller who knows better than the status and
// the end of the body can tell: an error frame in a stream of events, say. It must be
// called before the body is closed. It replaces Config.Outcome and DefaultOutcome for
// the attempt that brought the response; err is the reason that is kept. The last
// Report counts. Report returns false if there is no response, or if the attempt is
// over.
func (t *Tracker) Report(outcome evenkeel.Outcome, err error) bool {
	a := t.last.Load()
	return a != nil && a.report(&verdict{outcome, err})
}
