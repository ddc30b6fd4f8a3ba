package evenkeel

import (
	"context"
	"errors"
	"fmt"
)

// Outcome is how a lease ended, as far as its backend is concerned.
type Outcome int

const (
	// OutcomeSuccess: the backend did what was asked.
	OutcomeSuccess Outcome = iota
	// OutcomeFailure counts against the backend in every rule.
	OutcomeFailure
	// OutcomeDeadline: the caller's own deadline passed. It counts only where the
	// backend is compared with the others: a caller in a hurry hurts all alike, a
	// hung backend hurts only itself.
	OutcomeDeadline
	// OutcomeNeutral says nothing of the backend: the caller cancelled.
	OutcomeNeutral
)

// String names the outcome.
func (o Outcome) String() string {
	switch o {
	case OutcomeSuccess:
		return "success"
	case OutcomeFailure:
		return "failure"
	case OutcomeDeadline:
		return "deadline"
	case OutcomeNeutral:
		return "neutral"
	}
	return fmt.Sprintf("Outcome(%d)", int(o))
}

// DefaultOutcome is the rule that applies where Config.Outcome is nil. A nil err
// is success. Otherwise the lease's own context decides, not the text or type of
// err: if that was cancelled, for whatever cause, the outcome is neutral; if its
// deadline passed, OutcomeDeadline; if it still runs, everything is a failure, a
// timeout that a library set for itself included.
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
	if o < OutcomeSuccess || o > OutcomeNeutral {
		return OutcomeFailure
	}
	return o
}

// endedWith is ended for a lease whose outcome is yet to be judged. If a rule of
// the user's panics the lease is over all the same, and the panic goes on.
func (p *Pool[T]) endedWith(ctx context.Context, m *member[T], start uint32, err error) {
	outcome := OutcomeNeutral
	defer func() { p.ended(m, start, outcome, err) }()
	if p.cfg.Outcome != nil {
		outcome = p.cfg.Outcome(ctx, err).known()
	} else {
		outcome = DefaultOutcome(ctx, err)
	}
}
