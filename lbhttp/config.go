package lbhttp

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Config is the set-up of a Transport. The zero value is the recommended set-up.
// NewWith refuses a value that is out of range, with an error that names the field.
// The Transport keeps a copy, so later changes have no effect.
type Config struct {
	// Base sends the requests.
	//
	// If Base is nil it is an http.Transport like http.DefaultTransport, with room
	// for 256 idle connections to each backend: with the default of two a busy client
	// dials again and again. If Base is an *http.Transport, the Transport uses copies
	// of it: later changes have no effect, and its own connections are not used. A
	// *Conns is used as it is. The package comment says what any other base cannot
	// keep.
	Base http.RoundTripper

	// Outcome says how an attempt ended, as far as its backend is concerned. nil:
	// DefaultOutcome. Outcome is called once for each attempt, at its end, from any
	// goroutine. A result that is none of evenkeel's constants counts as
	// OutcomeFailure.
	//
	// Outcome must not panic. If it does, the lease is released and the panic goes on.
	// It goes on in the caller's RoundTrip, or in the caller's Read or Close of the
	// body. But if the end of the request's context ended the attempt, it goes on in
	// a goroutine where nobody can recover it, and ends the process.
	Outcome func(Attempt) evenkeel.Outcome

	// Retry says when a request is tried again on another backend. It is on by
	// default.
	Retry Retry
}

// Retry says when a request is tried again. Each attempt goes to a backend that the
// same request has not been sent to yet, and ends before the next attempt begins.
// The zero value is the recommended set-up.
//
// A request is tried again if its body can be replayed, and if
//
//   - it was certainly not sent, because no connection could be made; or
//   - it was answered 421 Misdirected Request, by which a server says that it has not
//     acted on the request, or answered with one of Statuses; or
//   - it is idempotent, and the connection failed before the response header. GET,
//     HEAD, OPTIONS, TRACE, PUT and DELETE are idempotent, and so is any request with
//     a header Idempotency-Key or X-Idempotency-Key.
//
// A body can be replayed if there is none, if GetBody is set, or if nothing has been
// read from it.
//
// No request is tried again after its context has ended, after an error from the
// caller's request body, or after RoundTrip has returned a response. When the
// attempts, the backends or the budget are used up, the last answer stands: a
// response is returned as it is, and an error lists all attempts (see [Error]).
type Retry struct {
	// Off turns all retries off. A base http.Transport still replaces a connection
	// that the server had closed while it was idle.
	Off bool

	// Attempts is the greatest number of attempts for one request, the first
	// included. 0: 3. A negative value is refused.
	Attempts int

	// Statuses are the status codes, from 400 to 599, that are tried again whatever
	// the method. There are none by default. Before the next attempt the response is
	// read, up to 64 KiB and 50 ms, so that its connection can be used again, and
	// closed.
	Statuses []int

	// Share and PerSecond are the budget of retries, over the last ten seconds and all
	// requests of the Transport. It is Share times the requests, plus PerSecond for
	// each second. Share is at most 1. 0: 0.2 and 10. Negative: none.
	Share, PerSecond float64

	// MaxWait is the longest Retry-After, of a response with one of Statuses, that is
	// waited for. Nothing is in flight during the wait. A response that asks for more
	// than MaxWait, or for more than is left until the context's deadline, is returned
	// as it is. 0: 10 s. Negative: any response that asks for a wait is returned.
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
