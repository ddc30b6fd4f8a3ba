package evenkeel

import "time"

// Call is the particulars of one call, for LeaseFor. The zero Call has none: LeaseFor is
// then Lease.
type Call[T comparable] struct {
	// Key is what the call is about, for policies that send the same key to the same
	// backend. "": it has none.
	Key string

	// Avoid is the backends that must not be taken, such as those that a call has been
	// tried on. Where they are all there are, LeaseFor fails with ErrNoBackends. It must
	// not be changed during LeaseFor. A call that avoids backends allocates.
	Avoid []T

	// NoWait makes LeaseFor fail with ErrOverloaded where it would wait in the backlog.
	NoWait bool
}

// LeaseHooks are called at the begin and the end of every lease of a pool, see
// Pool.ObserveLeases. Either may be nil. They run outside every lock, on the goroutine
// that begins or ends the lease, from many goroutines at once.
type LeaseHooks[T comparable] struct {
	Begin, End func(LeaseInfo[T])
}

// LeaseInfo is what is known of a lease when it begins or ends.
type LeaseInfo[T comparable] struct {
	Backend T
	Waited  time.Duration // in the backlog, before it began
	Took    time.Duration // from its begin to its end; 0 at the begin
	Outcome Outcome       // at the end; OutcomeSuccess at the begin
	Err     error         // what Done or DoneAs was given
}
