package lbhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// A response that is to be tried again is read for so much and so long, so that
// its connection can be used again.
const (
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// mayRetry decides whether there is a next attempt. If so it has taken it off the
// budget, and returns the body for it and how long to wait before it.
func (t *Transport) mayRetry(a *attempt, resp *http.Response, err error, made int) (body io.ReadCloser, wait time.Duration, stopped string, ok bool) {
	no := func(format string, args ...any) (io.ReadCloser, time.Duration, string, bool) {
		return nil, 0, fmt.Sprintf(format, args...), false
	}
	switch {
	case !t.retries || gaveUp(a.caller):
		return no("")
	case a.sent.broke():
		return no("the caller's request body failed")
	case a.invalid():
		return no("the request is not valid")
	case made >= t.cfg.Retry.Attempts:
		return no("%d attempts were made", made)
	case resp == nil && !idempotent(a.caller) && !a.unsent(err):
		return no("the request may have been received, and %s is not idempotent", a.caller.Method)
	}
	if resp != nil && slices.Contains(t.cfg.Retry.Statuses, resp.StatusCode) {
		wait = retryAfter(resp.Header, time.Now())
		if deadline, has := a.caller.Context().Deadline(); wait > t.cfg.Retry.MaxWait || (has && time.Until(deadline) <= wait) {
			return no("")
		}
	}
	if !a.replayable() {
		return no("its body cannot be replayed: Request.GetBody is nil")
	}
	if !t.budget.spend(time.Now()) {
		return no("the retry budget is spent")
	}
	body, err = a.replay()
	if err != nil {
		return no("its body cannot be replayed: %v", err)
	}
	return body, wait, "", true
}

// unsent reports whether an attempt certainly sent nothing of the request.
func (a *attempt) unsent(err error) bool {
	if a.copy != nil && a.copy.traced {
		return !a.copy.connected.Load()
	}
	var (
		op   *net.OpError
		dial *dialError
	)
	return errors.Is(err, evenkeel.ErrBadBackend) || errors.As(err, &dial) || (errors.As(err, &op) && op.Op == "dial")
}

func (a *attempt) replayable() bool {
	return !hasBody(a.caller) || a.caller.GetBody != nil ||
		(a.sent.inner != nil && a.sent.state.Load()&bodyRead == 0)
}

// replay returns the request's body once more.
func (a *attempt) replay() (io.ReadCloser, error) {
	switch {
	case !hasBody(a.caller):
		return a.caller.Body, nil
	case a.caller.GetBody != nil:
		if a.sent.inner != nil {
			a.sent.settle()
			_ = a.sent.Close()
		}
		return a.caller.GetBody()
	}
	if body, ok := a.sent.pass(); ok {
		return body, nil
	}
	return nil, errors.New("it was read from meanwhile")
}

// idempotent reports whether a request may be carried out twice (RFC 9110, 9.2.2),
// or is marked as one that may, as http.Transport has it.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, a := req.Header["Idempotency-Key"]
	_, b := req.Header["X-Idempotency-Key"]
	return a || b
}

// retryAfter is the wait that a response asks for, 0 for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// sleep waits, unless the caller ends the request first.
func sleep(req *http.Request, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-req.Context().Done():
		return context.Cause(req.Context())
	case <-req.Cancel: //nolint:staticcheck // deprecated, but http.Client uses it
		return context.Canceled
	}
}

// drain reads what is left of a body, within bounds, and closes it.
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

// invalid reports whether the caller's request is one that http.Transport refuses,
// so that its error says nothing of the backend: over HTTP/1 or HTTP/2, whichever
// is the stricter. Only asked after an error.
func (a *attempt) invalid() bool {
	req := a.caller
	return a.badTrailer || (req.Method != "" && !isToken(req.Method)) ||
		(req.Body == nil && req.ContentLength != 0) ||
		badHeader(req.Header) || hasControl(req.URL.RequestURI())
}

func badHeader(h http.Header) bool {
	for k, vv := range h {
		if !isToken(k) || slices.ContainsFunc(vv, hasControl) {
			return true
		}
	}
	return false
}

// badTrailer reports whether a request's trailer is one that http.Transport
// refuses. It must be asked before the body is read: while it is, the caller may
// write to its trailer.
func badTrailer(trailer http.Header) bool {
	for k := range trailer {
		switch http.CanonicalHeaderKey(k) {
		case "Transfer-Encoding", "Trailer", "Content-Length":
			return true
		}
	}
	return badHeader(trailer)
}

func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

func hasControl(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }) >= 0
}
