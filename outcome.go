package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Outcome is how a lease ended, as far as its backend is concerned.
type Outcome int

const (
	// OutcomeSuccess: the backend did what was asked.
	OutcomeSuccess Outcome = iota
	// OutcomeFailure counts against the backend in every rule.
	OutcomeFailure
	// OutcomeDeadline: the caller's own deadline passed. It counts only where the
	// backend is compared with the others: a caller in a hurry hurts all alike, a hung
	// backend hurts only itself.
	OutcomeDeadline
	// OutcomeNeutral says nothing of the backend: the caller cancelled, or this process
	// was short of something.
	OutcomeNeutral
	// OutcomeOverloaded: the backend said that it is busy. That is load and never sickness:
	// the call stays on the books for a while, like a failed one, so that a refusal in no
	// time does not attract the next call, and no rule counts it. See [BusyError].
	OutcomeOverloaded
	// OutcomeUnreported is that of a lease that Release ended: nothing was said.
	OutcomeUnreported
)

var outcomeNames = [...]string{"success", "failure", "deadline", "neutral", "overloaded", "unreported"}

// String names the outcome.
func (o Outcome) String() string { return nameOf(outcomeNames[:], int(o), "Outcome") }

// DefaultOutcome is the rule that applies where Config.Outcome is nil. The first that fits
// decides:
//
//   - a nil err, or one that [NotItsFault] has marked, is success;
//   - a [BusyError] is OutcomeOverloaded;
//   - if the lease's own context was cancelled, for whatever cause, the outcome is neutral;
//     if its deadline passed, OutcomeDeadline;
//   - a shortage of this process (of file descriptors, ports, memory or buffers), or an
//     error of another pool that had no backend or no place, is neutral;
//   - everything else is a failure, a timeout that a library set for itself included.
func DefaultOutcome(ctx context.Context, err error) Outcome {
	if err == nil {
		return OutcomeSuccess
	}
	var busy *BusyError
	var mine *notItsFault
	switch {
	case errors.As(err, &mine):
		return OutcomeSuccess
	case errors.As(err, &busy):
		return OutcomeOverloaded
	}
	switch ended := ctx.Err(); {
	case errors.Is(ended, context.DeadlineExceeded):
		return OutcomeDeadline
	case ended != nil, isShortage(err), errors.Is(err, ErrOverloaded), errors.Is(err, ErrNoBackends):
		return OutcomeNeutral
	}
	return OutcomeFailure
}

// BusyError says that a backend refused a call because it is busy, and perhaps for how
// long. A call that ends with it has the outcome OutcomeOverloaded.
type BusyError struct {
	// RetryAfter is for how long the backend asks not to be called. The pool takes it out
	// of rotation for that long, at most 30 s and up to a tenth less, unless all backends
	// ask for it. 0: it did not say.
	RetryAfter time.Duration
	// Err is what the call returned. It may be nil.
	Err error
}

// Error implements error.
func (e *BusyError) Error() string {
	text := "the backend is busy"
	if e.RetryAfter > 0 {
		text += fmt.Sprintf(" for %v", e.RetryAfter)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns Err.
func (e *BusyError) Unwrap() error { return e.Err }

// NotItsFault marks an error that says nothing bad of the backend: the backend did what
// was asked, and the answer is an error to the caller only, such as sql.ErrNoRows or a
// cache miss. A call that ends with it is a success. errors.Is and errors.As see through
// the mark. NotItsFault(nil) is nil.
func NotItsFault(err error) error {
	if err == nil {
		return nil
	}
	return &notItsFault{err}
}

type notItsFault struct{ error }

// Unwrap returns the error that was marked.
func (e *notItsFault) Unwrap() error { return e.error }

// known returns the outcome, or OutcomeFailure if it is none of the constants.
func (o Outcome) known() Outcome {
	if o < OutcomeSuccess || o > OutcomeUnreported {
		return OutcomeFailure
	}
	return o
}
