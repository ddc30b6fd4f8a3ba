package evenkeel

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors that callers match with errors.Is. What comes back wraps one of
// them and says which backend or field is meant. A context's error comes back as
// context.Cause(ctx), unwrapped. Whatever the error, no count was changed.
var (
	// ErrNoBackends: the pool has no member that may be used now: it is empty,
	// every member is ejected by hand or drained (weight 0), or LeaseExcept was
	// told to avoid all of them. See [NoBackendsError] for the counts.
	ErrNoBackends = errors.New("evenkeel: no backend is available")

	// ErrOverloaded: every backend is at Config.MaxInFlight and the backlog took
	// no more waiting calls, or gave this one up. See [OverloadedError].
	ErrOverloaded = errors.New("evenkeel: overloaded")

	// ErrDuplicate: a backend stands twice in one NewPool, Replace or
	// ReplaceWeighted.
	ErrDuplicate = errors.New("evenkeel: duplicate backend")

	// ErrUnknownBackend: the backend named is not a member of the pool.
	ErrUnknownBackend = errors.New("evenkeel: unknown backend")

	// ErrBadWeight: a weight is negative, NaN or infinite.
	ErrBadWeight = errors.New("evenkeel: bad weight")

	// ErrBadBackend: a backend does not equal itself (a NaN, or a struct that
	// holds one), so it could never be found again.
	ErrBadBackend = errors.New("evenkeel: bad backend")

	// ErrBadConfig: a field of a Config is out of its range.
	ErrBadConfig = errors.New("evenkeel: bad config")

	// ErrNil: a context, pool, balancer or function that must not be nil was nil.
	ErrNil = errors.New("evenkeel: nil argument")
)

// NoBackendsError says why no backend may be used. It matches [ErrNoBackends].
type NoBackendsError struct {
	Members       int // members of the pool
	EjectedByHand int // of them, ejected by hand
	Drained       int // of them, not ejected by hand but with weight 0
	Ejected       int // of them, ejected by outcome or by health checks
	Avoided       int // of them, usable but named in LeaseExcept
}

// Error implements error.
func (e *NoBackendsError) Error() string {
	if e.Members == 0 {
		return ErrNoBackends.Error() + ": the pool is empty"
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
	return fmt.Sprintf("%v: of %d members, %s", ErrNoBackends, e.Members, strings.Join(parts, ", "))
}

// Is reports whether target is ErrNoBackends.
func (e *NoBackendsError) Is(target error) bool { return target == ErrNoBackends }

// OverloadedError says how far the pool is over its limits. It matches
// [ErrOverloaded].
type OverloadedError struct {
	Reason  ShedReason
	Waiting int           // calls waiting in the backlog at that moment, this one not counted
	Waited  time.Duration // how long this call had waited
}

// Error implements error.
func (e *OverloadedError) Error() string {
	if e.Reason == ShedFull && e.Waiting == 0 {
		return fmt.Sprintf("%v: every backend is at its limit and no call may wait (Config.Backlog is 0)", ErrOverloaded)
	}
	if e.Reason == ShedFull {
		return fmt.Sprintf("%v: every backend is at its limit and the backlog is full: %d waiting", ErrOverloaded, e.Waiting)
	}
	return fmt.Sprintf("%v: %s after waiting %v: %d more waiting", ErrOverloaded, e.Reason, e.Waited, e.Waiting)
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
)

// String names the reason.
func (r ShedReason) String() string {
	switch r {
	case ShedFull:
		return "backlog full"
	case ShedMaxWait:
		return "shed by MaxWait"
	case ShedDelay:
		return "shed by ControlledDelay"
	}
	return fmt.Sprintf("ShedReason(%d)", int(r))
}

func badConfig(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrBadConfig, field, fmt.Sprintf(format, args...))
}

func unknown[T comparable](b T) error {
	return fmt.Errorf("%w %v: it is not a member of the pool", ErrUnknownBackend, b)
}

var (
	errNilContext = fmt.Errorf("%w: the context is nil; pass context.Background() if there is none", ErrNil)
	errNoPool     = fmt.Errorf("%w: the balancer has no pool; make it with New and the pool that NewPool returned", ErrNil)
	errZeroPool   = fmt.Errorf("%w: the pool was not made by NewPool", ErrNil)
	errNilDo      = fmt.Errorf("%w: Do needs a balancer and a function", ErrNil)
)
