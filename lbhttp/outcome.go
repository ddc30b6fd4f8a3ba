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

	// Response is the status and the headers that came back, nil if none did. It is
	// a copy made before the caller was given the response, and this attempt's own:
	// what the caller does to its response does not show here. The body is
	// http.NoBody, and Trailer is nil: trailers come with the end of the body, into
	// the caller's response.
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
	if a.Response != nil {
		return outcome(a, a.Response.StatusCode)
	}
	return outcome(a, 0)
}

// outcome is DefaultOutcome for an attempt whose status, 0 for none, is known
// without its response.
func outcome(a Attempt, status int) evenkeel.Outcome {
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
// an Error. The status is 0 if there was no header.
func reason(status int, err error) error {
	switch {
	case err != nil:
		return err
	case status >= 400:
		return &statusError{status}
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
