package lbhttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Before a response is tried again, so much of its body is read, for so long, in
// order that its connection can be used again.
const (
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// unwelcome reports whether another backend should be asked in place of returning
// this response.
func (t *Transport) unwelcome(resp *http.Response) bool {
	return t.retries && resp.StatusCode >= 400 &&
		(resp.StatusCode == http.StatusMisdirectedRequest || slices.Contains(t.cfg.Retry.Statuses, resp.StatusCode))
}

// A further attempt is one that the rules of Retry allow after one that failed.
type further struct {
	why  Reason
	body io.ReadCloser // the request's
}

// mayRetry decides whether there is a next attempt after made of them. If so it has
// taken the next attempt off the budget. If not it returns the reason, empty if
// there is none to name.
func (t *Transport) mayRetry(a *attempt, resp *http.Response, err error, made int) (next further, stopped string, ok bool) {
	no := func(format string, args ...any) (further, string, bool) {
		return further{}, fmt.Sprintf(format, args...), false
	}
	next.why = a.failedBy(err)
	switch {
	case !t.retries || gaveUp(a.caller):
		return no("")
	case a.sent.failed.Load():
		return no("the caller's request body failed")
	case a.invalid():
		return no("the request is not valid")
	case made >= t.cfg.Retry.Attempts:
		return no("%d attempts were made", made)
	case resp == nil && !idempotent(a.caller) && next.why != ReasonUnsent && next.why != ReasonRefused:
		return no("the request may have been received, and %s is not idempotent", a.caller.Method)
	case !a.replayable():
		return no("its body cannot be replayed: Request.GetBody is nil")
	case !t.budget.Spend(time.Now()):
		t.figures.overBudget.Add(1)
		return no("the retry budget is spent")
	}
	if next.body, err = a.replay(); err != nil {
		return no("its body cannot be replayed: %v", err)
	}
	return next, "", true
}

// failedBy names what kind of failure err is; nil stands for an unwelcome response.
func (a *attempt) failedBy(err error) Reason {
	switch timeout := (*attemptTimeout)(nil); {
	case err == nil:
		return ReasonStatus
	case a.copy != nil && a.copy.refused.Load():
		return ReasonRefused
	case a.unsent(err):
		return ReasonUnsent
	case errors.As(err, &timeout):
		return ReasonTimeout
	}
	return ReasonBroken
}

// unsent reports whether an attempt that failed by err certainly sent nothing of
// the request.
func (a *attempt) unsent(err error) bool {
	if closedIdle(err) {
		return true
	}
	if a.copy != nil && a.copy.traced {
		return !a.copy.connected.Load()
	}
	var (
		op   *net.OpError
		dial *dialError
	)
	return errors.Is(err, evenkeel.ErrBadBackend) || errors.As(err, &dial) || (errors.As(err, &op) && op.Op == "dial")
}

// closedIdle reports whether http.Transport says that the server had closed the
// connection while it was idle. The connection was closed before the request was its
// own, so nothing of it was written. http.Transport itself tries again only what is
// idempotent, and does not export the error.
func closedIdle(err error) bool {
	return err != nil && err.Error() == "http: server closed idle connection"
}

// replayable reports whether the request's body can probably be sent once more.
func (a *attempt) replayable() bool {
	return !hasBody(a.caller) || a.caller.GetBody != nil || a.sent.unread()
}

// replay returns the request's body for one more attempt.
func (a *attempt) replay() (io.ReadCloser, error) {
	switch {
	case !hasBody(a.caller):
		return a.caller.Body, nil
	case a.caller.GetBody != nil:
		a.sent.shut()
		return a.caller.GetBody()
	}
	if body, ok := a.sent.pass(); ok {
		return body, nil
	}
	return nil, errors.New("it was read from meanwhile")
}

// drain reads what is left of a response's body, up to drainBytes and drainTime,
// and closes it. The reading goroutine ends when the body's Read returns, which
// Close brings about.
func drain(body io.ReadCloser) {
	if body == nil || body == http.NoBody {
		return
	}
	shut := sync.OnceFunc(func() { _ = body.Close() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyN(io.Discard, body, drainBytes)
		shut()
	}()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		shut()
	}
}
