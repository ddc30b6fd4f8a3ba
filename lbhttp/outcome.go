package lbhttp

import (
	"net/http"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Attempt describes one attempt at a request, at the attempt's end.
type Attempt struct {
	// Backend is the backend that the attempt went to.
	Backend string

	// Request is the caller's request. It must not be changed or kept.
	Request *http.Request

	// Response is the response as it came, nil if there was no response header. It
	// is a copy that belongs to this Attempt: what the caller does to its response
	// does not show here. Body is http.NoBody. Trailer is what followed the body; it
	// is nil if the body was not read to its end.
	Response *http.Response

	// Err is what went wrong, before or after the response header. It is the cause
	// of the context's end if the context ended first, and nil if the body was read
	// to its end or closed.
	Err error

	// CallerFailed reports that the caller is the cause of Err: the request's body
	// gave an error or another length than declared, or the request is not valid.
	CallerFailed bool

	// Number counts the attempts at one request, from 1. Reason is why this one was
	// made.
	Number int
	Reason Reason

	// Status is the status code of the response header, 0 if there was none.
	Status int

	// Busy reports that the backend refused the request because it is busy: it answered
	// 429 Too Many Requests, or 503 Service Unavailable with a Retry-After. RetryAfter is
	// how long it asks not to be called, 0 if it does not say. If the outcome is
	// OutcomeOverloaded, the pool calls it for that long only if there is no other; see
	// evenkeel.BusyError.
	Busy       bool
	RetryAfter time.Duration

	// Outcome is what was decided. It is set for Config.OnAttempt only.
	Outcome evenkeel.Outcome

	// LeaseWait is how long the attempt waited for its lease. The other times run from
	// the lease. ToConn ends when there was a connection; if the base tried several, it
	// is that of the last. ToConn is 0 if there was none, and it is measured only if
	// Config.OnAttempt is set and the base is an *http.Transport or wraps a Conns.
	// ToHeader ends at the response header, and is 0 if there was none. Informational
	// (1xx) responses do not count. Total ends when the attempt did.
	LeaseWait, ToConn, ToHeader, Total time.Duration
}

// verdict is the caller's word on an attempt.
type verdict struct {
	outcome evenkeel.Outcome
	err     error
}

// DefaultOutcome is the rule that applies if Config.Outcome is nil. The first line
// that fits decides:
//
//   - the backend said that it is busy, see Attempt.Busy: OutcomeOverloaded;
//   - a status of 500 or more, or 421 Misdirected Request: OutcomeFailure, whatever
//     happens later;
//   - an error that the caller caused: OutcomeNeutral;
//   - any other error, before or after the response header: OutcomeNeutral if the
//     request's context was cancelled or this process was short of something (file
//     descriptors, say), OutcomeDeadline if its deadline passed, else OutcomeFailure, as
//     evenkeel.DefaultOutcome has it;
//   - a final status of 1xx other than 101: OutcomeNeutral;
//   - everything else: OutcomeSuccess, also if the body was closed before its end.
func DefaultOutcome(a Attempt) evenkeel.Outcome {
	switch {
	case a.Busy:
		return evenkeel.OutcomeOverloaded
	case a.Status >= 500 || a.Status == http.StatusMisdirectedRequest:
		return evenkeel.OutcomeFailure
	case a.Err != nil && a.CallerFailed:
		return evenkeel.OutcomeNeutral
	case a.Err != nil:
		if how := evenkeel.DefaultOutcome(a.Request.Context(), a.Err); how != evenkeel.OutcomeFailure {
			return how
		}
		return legacyCancel(a.Request)
	case a.Status >= 100 && a.Status <= 199 && a.Status != http.StatusSwitchingProtocols:
		return evenkeel.OutcomeNeutral
	}
	return evenkeel.OutcomeSuccess
}
