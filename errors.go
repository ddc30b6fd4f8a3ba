package evenkeel

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors that callers match with errors.Is. What comes back wraps one of them and
// says which backend or field is meant. A context's error comes back as
// context.Cause(ctx), unwrapped. Whatever the error, no count was changed.
var (
	// ErrNoBackends: the pool has no member that may be used now: it is empty, every
	// member is ejected by hand or drained (weight 0), or Call.Avoid names all of them.
	// See [NoBackendsError] for the counts.
	ErrNoBackends = errors.New("evenkeel: no backend is available")

	// ErrOverloaded: every backend is at Config.MaxInFlight, and the backlog took no
	// more waiting calls, or gave this one up. See [OverloadedError].
	ErrOverloaded = errors.New("evenkeel: overloaded")

	// ErrDuplicate: a backend stands twice in one NewPool, Replace or ReplaceMembers.
	ErrDuplicate = errors.New("evenkeel: duplicate backend")

	// ErrUnknownBackend: the backend named is not a member of the pool.
	ErrUnknownBackend = errors.New("evenkeel: unknown backend")

	// ErrBadBackend: a backend cannot be a member: it does not equal itself (a NaN, or
	// a struct that holds one), so it could never be found again; its weight is
	// negative, NaN or infinite; or its tier is negative.
	ErrBadBackend = errors.New("evenkeel: bad backend")

	// ErrBadConfig: a field of a Config is out of its range, or a context, pool,
	// balancer or function that must be there is nil.
	ErrBadConfig = errors.New("evenkeel: bad config")
)

// NoBackendsError says why no backend may be used. It matches [ErrNoBackends].
type NoBackendsError struct {
	Pool          string // Config.Name
	Members       int    // members of the pool
	EjectedByHand int    // of them, ejected by hand
	Drained       int    // of them, not ejected by hand but with weight 0
	Ejected       int    // of them, ejected by outcome or by health checks
	Avoided       int    // of them, usable but named in Call.Avoid
}

// Error implements error.
func (e *NoBackendsError) Error() string {
	text := ErrNoBackends.Error()
	if e.Pool != "" {
		text += " in pool " + e.Pool
	}
	if e.Members == 0 {
		return text + ": the pool is empty"
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{e.EjectedByHand, "ejected by hand (Restore brings them back)"},
		{e.Drained, "drained (weight 0; SetWeight changes it)"},
		{e.Avoided, "tried already"},
		{e.Ejected, "ejected by outcome or health"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return fmt.Sprintf("%s: of %d members, %s", text, e.Members, strings.Join(parts, ", "))
}

// Is reports whether target is ErrNoBackends.
func (e *NoBackendsError) Is(target error) bool { return target == ErrNoBackends }

// OverloadedError says how far the pool is over its limits. It matches
// [ErrOverloaded].
type OverloadedError struct {
	Pool    string // Config.Name
	Reason  ShedReason
	Waiting int           // calls waiting in the backlog at that moment, this one not counted
	Waited  time.Duration // how long this call had waited
}

// Error implements error.
func (e *OverloadedError) Error() string {
	text := ErrOverloaded.Error()
	if e.Pool != "" {
		text += ": pool " + e.Pool
	}
	switch {
	case e.Reason == ShedNoWait:
		return text + ": every backend is at its limit and the call must not wait (Call.NoWait)"
	case e.Reason == ShedFull && e.Waiting == 0:
		return text + ": every backend is at its limit and no call may wait (Config.Backlog is 0)"
	case e.Reason == ShedFull:
		return fmt.Sprintf("%s: every backend is at its limit and the backlog is full: %d waiting", text, e.Waiting)
	}
	return fmt.Sprintf("%s: %s after waiting %v: %d more waiting", text, e.Reason, e.Waited, e.Waiting)
}

// Is reports whether target is ErrOverloaded.
func (e *OverloadedError) Is(target error) bool { return target == ErrOverloaded }

// ShedReason is why a call was refused under overload.
type ShedReason int

// The reasons.
const (
	ShedFull    ShedReason = iota // the backlog was full when the call came
	ShedMaxWait                   // it waited for Config.MaxWait
	ShedDelay                     // Config.ControlledDelay shed it from the front
	ShedNoWait                    // it would have had to wait, and Call.NoWait forbids that
)

var shedNames = [...]string{"backlog full", "shed by MaxWait", "shed by ControlledDelay", "refused to wait"}

// String names the reason.
func (r ShedReason) String() string { return nameOf(shedNames[:], int(r), "ShedReason") }

func nameOf(names []string, i int, of string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", of, i)
	}
	return names[i]
}

func badConfig(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrBadConfig, field, fmt.Sprintf(format, args...))
}

func unknown[T comparable](b T) error {
	return fmt.Errorf("%w %v: it is not a member of the pool", ErrUnknownBackend, b)
}

var (
	errNilContext = fmt.Errorf("%w: the context is nil; pass context.Background() if there is none", ErrBadConfig)
	errNoPool     = fmt.Errorf("%w: the balancer has no pool; make it with New and the pool that NewPool returned", ErrBadConfig)
	errNoPolicy   = fmt.Errorf("%w: the balancer has no policy", ErrBadConfig)
	errZeroPool   = fmt.Errorf("%w: the pool was not made by NewPool", ErrBadConfig)
	errUnchecked  = errors.New("no health check has found it up yet")
	errNilDo      = fmt.Errorf("%w: Do needs a balancer and a function", ErrBadConfig)
)
