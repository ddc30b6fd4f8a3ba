package lbhttp

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Config is how a Transport behaves. The zero value is the recommended set-up; a
// value out of range is refused by NewWith with an error that names the field.
type Config struct {
	// Base sends the requests. nil: an http.Transport like http.DefaultTransport,
	// but with room for 256 idle connections to each backend, since the default of
	// two makes a busy client dial again and again. An *http.Transport is copied,
	// with its settings: later changes of it have no effect, and its own
	// connections are not used. A *Conns is used as it is. For any other see the
	// package comment.
	Base http.RoundTripper

	// Outcome says how an attempt ended, as far as its backend is concerned, in
	// place of DefaultOutcome. It is called once for each attempt, at its end,
	// from any goroutine. A result that is none of evenkeel's constants is taken
	// for OutcomeFailure.
	//
	// It must not panic. If it does the lease is released and the panic goes on: in
	// the caller's RoundTrip, or its Read or Close of the body; but where it was the
	// end of the request's context that ended the attempt, on a goroutine of its own,
	// which nobody can recover, so that it ends the process.
	Outcome func(Attempt) evenkeel.Outcome

	// Retry says when a request is tried again on another backend. On by default.
	Retry Retry
}

// Retry says when a request is tried again. Each attempt goes to a backend that
// this request has not been given to yet, and ends before the next one begins. The
// zero value is the recommended set-up.
//
// Tried again is, if its body can be replayed (it has none, GetBody is set, or
// nothing has been read of it):
//
//   - any request that was certainly not sent: no connection could be made;
//   - any request that was answered 421 Misdirected Request, by which a server
//     says that it has not acted on it, or with one of Statuses;
//   - an idempotent request (GET, HEAD, OPTIONS, TRACE, PUT, DELETE, or one with a
//     header Idempotency-Key or X-Idempotency-Key) after any error of the
//     connection before the response header.
//
// Nothing is tried again once the request's context has ended, after an error
// from the caller's request body, or once a response has been handed over. When
// attempts, backends or budget run out the last answer stands: an error lists all
// attempts (see [Error]), and a response is returned as it is.
//
// Retries need a balancer that also has
//
//	LeaseExcept(ctx context.Context, tried ...string) (evenkeel.Lease[string], error)
//
// as all of evenkeel's have; with one that has not there are none.
type Retry struct {
	// Off turns all retries off. A base http.Transport still replaces a connection
	// that the server had closed while it was idle.
	Off bool

	// Attempts is the most attempts for one request, the first included. 0: 3.
	Attempts int

	// Statuses are the status codes, from 400 to 599, that are tried again whatever
	// the method. None by default. Before that the response is closed, after at
	// most 64 KiB and 50 ms of reading so that its connection can be used again.
	Statuses []int

	// Share and PerSecond are the budget, over the last ten seconds and all requests
	// of the Transport: this share of the requests, from 0 to 1, plus so many each
	// second. 0: 0.2 and 10. Negative: none.
	Share, PerSecond float64

	// MaxWait is the longest Retry-After, of a response that is to be tried again,
	// that is waited for, as long as the context allows it. A response that asks
	// for more is returned as it is. 0: 10 s. Negative: none is waited for.
	MaxWait time.Duration
}

func (c Config) withDefaults() (Config, error) {
	bad := func(field, format string, args ...any) (Config, error) {
		return c, fmt.Errorf("%w: lbhttp.Config.%s: %s", evenkeel.ErrBadConfig, field, fmt.Sprintf(format, args...))
	}
	r := &c.Retry
	if r.Attempts < 0 {
		return bad("Retry.Attempts", "%d is negative; to turn retries off set Retry.Off", r.Attempts)
	}
	for _, s := range r.Statuses {
		if s < 400 || s > 599 {
			return bad("Retry.Statuses", "%d is not within 400 to 599", s)
		}
	}
	if math.IsNaN(r.Share) || r.Share > 1 {
		return bad("Retry.Share", "%v is not a share of at most 1", r.Share)
	}
	if math.IsNaN(r.PerSecond) || r.PerSecond > math.MaxInt32 {
		return bad("Retry.PerSecond", "%v is not a number of at most %d", r.PerSecond, math.MaxInt32)
	}
	orDefault(&r.Attempts, 3)
	orDefault(&r.Share, 0.2)
	orDefault(&r.PerSecond, 10)
	orDefault(&r.MaxWait, 10*time.Second)
	r.Share, r.PerSecond, r.MaxWait = max(r.Share, 0), max(r.PerSecond, 0), max(r.MaxWait, 0)
	return c, nil
}

func orDefault[V int | float64 | time.Duration](v *V, def V) {
	if *v == 0 {
		*v = def
	}
}
