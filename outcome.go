package evenkeel

import (
	"context"
	"errors"
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
	// OutcomeNeutral says nothing of the backend: the caller cancelled.
	OutcomeNeutral
	// OutcomeUnreported is that of a lease that Release ended: nothing was said.
	OutcomeUnreported
)

var outcomeNames = [...]string{"success", "failure", "deadline", "neutral", "unreported"}

// String names the outcome.
func (o Outcome) String() string { return nameOf(outcomeNames[:], int(o), "Outcome") }

// DefaultOutcome is the rule that applies where Config.Outcome is nil. A nil err is
// success. Otherwise the lease's own context decides, not the text or type of err: if
// the context was cancelled, for whatever cause, the outcome is neutral; if its deadline
// passed, OutcomeDeadline; if it still runs, everything is a failure, a timeout that a
// library set for itself included.
func DefaultOutcome(ctx context.Context, err error) Outcome {
	if err == nil {
		return OutcomeSuccess
	}
	switch ended := ctx.Err(); {
	case ended == nil:
		return OutcomeFailure
	case errors.Is(ended, context.DeadlineExceeded):
		return OutcomeDeadline
	default:
		return OutcomeNeutral
	}
}

// known returns the outcome, or OutcomeFailure if it is none of the constants.
func (o Outcome) known() Outcome {
	if o < OutcomeSuccess || o > OutcomeUnreported {
		return OutcomeFailure
	}
	return o
}
