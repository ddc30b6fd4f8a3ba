package lbhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Try is one attempt that failed.
type Try struct {
	Backend string
	Err     error // an error of the connection, or the status of the response
}

// Error is the error of a request that was sent to at least one backend, or was to
// be sent there, and brought no response. It names the backends that were tried and
// why each attempt failed. errors.Is and errors.As find the error of each attempt,
// and the cause of the context's end if the context ended.
//
// If there was no lease for the first attempt, RoundTrip returns the error of Lease
// in place of an Error.
type Error struct {
	// Tries are the attempts in order. There is at least one.
	Tries []Try

	// Stopped is why there was no further attempt. It is empty if retries are off or
	// the caller has ended the request.
	Stopped string

	cause error // what ended the wait for a further attempt, if not a lack of backends
}

// Error implements error. The text leaves out the URL, which http.Client adds.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("lbhttp: ")
	for i, t := range e.Tries {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString("backend " + t.Backend + ": " + t.Err.Error())
	}
	if e.Stopped != "" {
		b.WriteString(" (" + e.Stopped + ")")
	}
	return b.String()
}

// Unwrap returns the error of each attempt in order, and then what ended the wait
// for a further attempt if that was the context or an overload.
func (e *Error) Unwrap() []error {
	causes := make([]error, len(e.Tries), len(e.Tries)+1)
	for i, t := range e.Tries {
		causes[i] = t.Err
	}
	if e.cause != nil {
		causes = append(causes, e.cause)
	}
	return causes
}

// Timeout reports whether the last attempt failed by a timeout. http.Client passes
// it on.
func (e *Error) Timeout() bool {
	causes := e.Unwrap()
	return len(causes) > 0 && isTimeout(causes[len(causes)-1])
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// Temporary is the same as Timeout. net.Error requires it.
func (e *Error) Temporary() bool { return e.Timeout() }

// reason is the error that stands for an attempt in the pool's statistics and in an
// Error. status is 0 if there was no response header.
func reason(status int, err error) error {
	switch {
	case err != nil:
		if what := shortOf(err); what != "" {
			return &shortageError{what, err}
		}
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

// shortageError is the error of an attempt that this process was too short of
// something to make.
type shortageError struct {
	what string
	error
}

func (e *shortageError) Error() string {
	return "this process is short of " + e.what + ": " + e.error.Error()
}

func (e *shortageError) Unwrap() error { return e.error }

var (
	errOvertaken = errors.New("another attempt was faster") // of an attempt that has lost a race
	errNothing   = errors.New("lbhttp: the base RoundTripper returned neither a response nor an error")
	errClosed    = errors.New("lbhttp: read of a request body that is closed")
)
