package lbhttp

import (
	"context"
	"fmt"
	"time"
)

// ownContext is the context of one attempt, for attempts that may be ended while
// their request goes on. The nil *ownContext is that of an attempt that has none.
type ownContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

func newOwnContext(parent context.Context) *ownContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &ownContext{ctx, cancel}
}

// end ends the context.
func (c *ownContext) end(cause error) {
	if c != nil {
		c.cancel(cause)
	}
}

// cause is what ended the attempt by its own context, nil if nothing did.
func (c *ownContext) cause() error {
	if c == nil {
		return nil
	}
	return context.Cause(c.Context)
}

// within ends the context after d, unless stop is called before; stop reports
// whether it was.
func (c *ownContext) within(d time.Duration) (stop func() bool) {
	return time.AfterFunc(d, func() { c.cancel(&attemptTimeout{d}) }).Stop
}

// attemptTimeout is the error of an attempt that took longer than
// Retry.AttemptTimeout.
type attemptTimeout struct{ after time.Duration }

func (e *attemptTimeout) Error() string {
	return fmt.Sprintf("no response header within %v (lbhttp.Retry.AttemptTimeout)", e.after)
}

func (*attemptTimeout) Timeout() bool   { return true }
func (*attemptTimeout) Temporary() bool { return true }
