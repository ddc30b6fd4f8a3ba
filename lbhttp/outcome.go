package lbhttp

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Attempt is one attempt at a request, at its end.
type Attempt struct {
	// Backend is where it went.
	Backend string

	// Request is the caller's. It must not be changed or kept.
	Request *http.Request

	// Response is what came back, nil if no header did. Only the status and the
	// headers may be read, and nothing be changed or kept.
	Response *http.Response

	// Err is what went wrong, before or after the header; the cause of the
	// context's end, if that came first; nil if the body was read to the end or
	// closed.
	Err error

	// CallerFailed says that the cause of Err is the caller: the request's body
	// gave an error or another length than declared, or the request is not valid.
	CallerFailed bool

	// Header is the time from the lease to the response header, 0 if none came.
	// Informational (1xx) responses do not count. It is measured only if
	// Config.Outcome is set.
	Header time.Duration
}

// DefaultOutcome is the rule that applies where Config.Outcome is nil.
//
// A status of 500 or more and 421 Misdirected Request are failures, whatever
// happens later. Then an error, before or after the header, is judged as by
// evenkeel.DefaultOutcome: if the request's context was cancelled it is neutral;
// if its deadline passed, OutcomeDeadline; else a failure, unless the caller
// failed, which is neutral. A final status of 1xx other than 101 is neutral.
// Everything else is success, also if the body was closed before its end.
func DefaultOutcome(a Attempt) evenkeel.Outcome {
	status := 0
	if a.Response != nil {
		status = a.Response.StatusCode
	}
	switch {
	case status >= 500 || status == http.StatusMisdirectedRequest:
		return evenkeel.OutcomeFailure
	case a.Err != nil && a.CallerFailed:
		return evenkeel.OutcomeNeutral
	case a.Err != nil:
		if how := evenkeel.DefaultOutcome(a.Request.Context(), a.Err); how != evenkeel.OutcomeFailure {
			return how
		}
		return legacyCancel(a.Request)
	case status >= 100 && status <= 199 && status != http.StatusSwitchingProtocols:
		return evenkeel.OutcomeNeutral
	}
	return evenkeel.OutcomeSuccess
}

// legacyCancel is the outcome of an error while the context still runs. Request's
// old Cancel channel, which http.Client closes for its Timeout, may say that the
// caller gave up a moment before the context does.
func legacyCancel(req *http.Request) evenkeel.Outcome {
	select {
	case <-req.Cancel: //nolint:staticcheck // deprecated, but http.Client uses it
		if d, ok := req.Context().Deadline(); ok && !time.Now().Before(d) {
			return evenkeel.OutcomeDeadline
		}
		return evenkeel.OutcomeNeutral
	default:
		return evenkeel.OutcomeFailure
	}
}

// gaveUp reports whether the caller has ended the request.
func gaveUp(req *http.Request) bool {
	return req.Context().Err() != nil || legacyCancel(req) != evenkeel.OutcomeFailure
}

// reason is the error that stands for an attempt in the pool's statistics and in
// an Error.
func reason(resp *http.Response, err error) error {
	switch {
	case err != nil:
		return err
	case resp != nil && resp.StatusCode >= 400:
		return &statusError{resp.StatusCode}
	}
	return nil
}

type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("answered %d %s", e.code, http.StatusText(e.code))
}

var (
	errNothing = errors.New("lbhttp: the base RoundTripper returned neither a response nor an error")
	errClosed  = errors.New("lbhttp: read of a request body that is closed")
)
