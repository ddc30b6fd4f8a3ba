package lbhttp

import (
	"errors"
	"strings"
)

// Try is one attempt that failed.
type Try struct {
	Backend string
	Err     error // an error of the connection, or the status it answered
}

// Error is the error of a request that was given to at least one backend and
// brought no response. It says which backends were tried and why each failed.
// errors.Is and errors.As find what each attempt failed of; the cause of the
// request's context, if that ended, is among them.
//
// An error that Lease returned for the first attempt is returned as it is.
type Error struct {
	Tries []Try

	// Stopped is why there was no further attempt. Empty: retries are off, or the
	// caller has ended the request.
	Stopped string

	cause error // what ended the wait for a further attempt, if not a lack of backends
}

// Error implements error. It leaves out the URL, which http.Client adds.
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

// Unwrap returns what each attempt failed of, in order, and then what ended the
// wait for a further one, if that was the context or an overload.
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

// Timeout reports whether the last attempt failed by a timeout. http.Client asks.
func (e *Error) Timeout() bool {
	causes := e.Unwrap()
	return len(causes) > 0 && isTimeout(causes[len(causes)-1])
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// Temporary is what net.Error asks for besides Timeout; it says the same.
func (e *Error) Temporary() bool { return e.Timeout() }
