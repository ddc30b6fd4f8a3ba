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

	// Key is what a request is about, for balancers whose policy sends the same key to
	// the same backend; see evenkeel.Call.Key. It is called once for each request. ""
	// is no key. nil: no request has one.
	Key func(*http.Request) string

	// OnAttempt is called for each attempt at its end, after its outcome is known and its
	// lease is over. It is called from any goroutine, from many at once, and outside
	// every lock of the Transport. A request that has ended its attempt by an error of
	// its own waits for OnAttempt to return. It must not panic; see Outcome. nil: nobody
	// is called, which costs nothing.
	OnAttempt func(Attempt)

	// Retry says when a request is tried again on another backend. It is on by
	// default.
	Retry Retry

	// Hedge says when a request that takes long is sent to a second backend beside the
	// first. It is off by default.
	Hedge Hedge

	// Reports says what is made of the load that backends report. It is on by default.
	Reports Reports
}

// Hedge says when a slow request is sent to a second backend while the first one
// works on it ("The Tail at Scale", Dean and Barroso, 2013). The first good response
// is returned: one with a status below 500 that is not to be tried again. The other
// attempt is cancelled, its lease ends as neutral, and the body of its response is
// closed. If neither is good the rules of Retry apply.
//
// Only requests that are idempotent, see Retry, and have no body or a GetBody are
// hedged, each at most once. No hedge waits in the pool's backlog. Hedges are not part
// of the budget of Retry, but of Attempts.
//
// A hedge runs on a goroutine of its own, and its base must not panic there. RoundTrip
// returns when both attempts have: the base must return soon after its request's
// context has ended, as http.Transport does.
type Hedge struct {
	// On turns hedging on.
	On bool

	// After is how long the first attempt is given, from its lease to its response
	// header. 0: the 95th percentile of the requests that could be hedged in the last 10
	// to 20 s, measured; there are no hedges while fewer than 50 times are known.
	After time.Duration

	// Share is the greatest share of the requests, over the last ten seconds, that are
	// hedged. It is within 0 to 1. 0: 0.05.
	Share float64
}

// Retry says when a request is tried again. Each attempt goes to a backend that the
// same request has not been sent to yet, and ends before the next attempt begins. A
// backend that has refused the stream may be asked again if there is no other. What
// one backend says of itself is not applied to others: a Retry-After does not delay
// the attempt on another backend.
// The zero value is the recommended set-up.
//
// A request is tried again if its body can be replayed, and if
//
//   - it was certainly not sent, because no connection could be made, or the server
//     refused its HTTP/2 stream, by which it says that it has not acted on it; or
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

	// AttemptTimeout is how long an attempt may take from its lease to its response
	// header: to connect, to send the request with its body, and to wait. Informational
	// responses (1xx) do not end that time. An attempt that takes longer has failed by
	// its backend's fault, and is followed by another as the rules above allow: a
	// request that is not idempotent only if it had no connection yet. The timeout
	// applies to the last attempt too, and if Off is set. What remains of the context's
	// deadline bounds it. 0: none.
	AttemptTimeout time.Duration
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
	if r.AttemptTimeout < 0 {
		return bad("Retry.AttemptTimeout", "%v is negative", r.AttemptTimeout)
	}
	if c.Hedge.After < 0 {
		return bad("Hedge.After", "%v is negative", c.Hedge.After)
	}
	if !(c.Hedge.Share >= 0 && c.Hedge.Share <= 1) { // NaN too
		return bad("Hedge.Share", "%v is not within 0 to 1", c.Hedge.Share)
	}
	orDefault(&c.Hedge.Share, 0.05)
	orDefault(&r.Attempts, 3)
	orDefault(&r.Share, 0.2)
	orDefault(&r.PerSecond, 10)
	r.Share, r.PerSecond = max(r.Share, 0), max(r.PerSecond, 0)
	return c, nil
}

func orDefault[V int | float64](v *V, def V) {
	if *v == 0 {
		*v = def
	}
}
