package lbhttp

import (
	"context"
	"errors"
	"time"
)

// This file is an attempt and the route that it goes by.

// attemptKey is the key of the attempt in the context of a request that goes
// through a custom base.
type attemptKey struct{}

func attemptContext(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt that a request belongs to, nil if it belongs to
// none.
func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// goes gives the attempt the route that it goes by, which has been entered. It
// reports false if the attempt has a route already or is over.
func (a *attempt) goes(c *Conns, r *route) bool {
	a.ending.Lock()
	defer a.ending.Unlock()
	if a.over || a.route != nil {
		return false
	}
	a.conns, a.route, a.answers = c, r, r.answered.Load()
	return true
}

// isolate gives the attempt a context of its own, if it may have to end while its
// request goes on, and returns the context to send with. r is nil if the base is a
// custom one, which may lead to any route.
func (a *attempt) isolate(r *route) context.Context {
	t, ctx := a.t, a.caller.Context()
	refusable := t.retries && (r == nil || r.http2)
	if !refusable && t.cfg.Retry.AttemptTimeout == 0 && a.own == nil {
		return ctx
	}
	if a.own == nil {
		a.own = newOwnContext(ctx)
	}
	return a.own.Context
}

// watch returns a context that lets the attempt know what is sent over a route, if
// it needs to know, and that ends the attempt when the server refuses the stream.
func (a *attempt) watch(ctx context.Context, r *route) context.Context {
	t := a.t
	refusable := t.retries && r.http2
	// Over a direct route without TLS the error says whether there was a connection.
	unsure := t.retries && !idempotent(a.caller) &&
		(!r.direct || r.scheme == "https" || t.base != nil || a.own != nil)
	if !refusable && !unsure && t.cfg.OnAttempt == nil {
		return ctx
	}
	if a.copy == nil {
		a.copy = &sentCopy{}
	}
	c := &a.copy.connTrace
	if a.copy.traced = true; refusable {
		c.stop, c.plain = a.own.cancel, r.plain
	}
	if t.cfg.OnAttempt != nil {
		c.clock = func() time.Duration { return time.Since(t.made) - a.copy.begun }
	}
	return c.trace(ctx)
}

// answered counts a response header on the route.
func (a *attempt) answered() {
	a.ending.Lock()
	r := a.route
	a.ending.Unlock()
	if r != nil {
		r.answered.Add(1)
	}
}

// suspect retires the route if err is a timeout and nothing was received on the
// route since the attempt began.
func (a *attempt) suspect(err error) {
	a.ending.Lock()
	c, r, answers := a.conns, a.route, a.answers
	a.ending.Unlock()
	if r == nil || r.answered.Load() != answers {
		return
	}
	if errors.Is(a.caller.Context().Err(), context.DeadlineExceeded) || isTimeout(err) {
		c.distrust(r)
	}
}
