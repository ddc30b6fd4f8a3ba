// Package evenkeel is a client-side load balancer that a Go program embeds: for
// every call a service makes, it picks one of the identical servers behind a
// name, counts the call while it is in flight, and takes broken servers out.
//
// Three things stay apart:
//
//   - WHO can be picked: a [Pool] holds the members, their weights and tiers, and
//     who of them is ejected.
//   - HOW LOADED a member is: one number for each, made in this package from the
//     calls in flight, the penalty for failed calls, and the weight; or from a
//     signal of the caller's own ([Pool.SetLoad]).
//   - WHICH one is taken: a [Policy].
//
// A call is a [Lease]:
//
//	pool, err := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:8080", "10.0.0.2:8080")
//	if err != nil { ... }
//	lb := p2c.New(pool)
//
//	lease, err := lb.Lease(ctx)
//	if err != nil { ... }
//	defer lease.Release()
//	err = call(ctx, lease.Backend())
//	lease.Done(err)
//
// or, in one call, [Do]. Counting starts at the pick, before anything is dialled,
// and ends exactly once, whoever ends it and however often. LeaseFor takes the
// particulars of a call ([Call]): its key, the backends to avoid, and whether it
// may wait. [Lease.Answered] says during a long call that the backend answers well.
//
// # The other packages
//
// The policies, each with New and NewWith:
//
//   - p2c: the less loaded of two random backends. It is the one to begin with.
//   - sqf: the least loaded of all.
//   - roundrobin: each in turn.
//   - random: any.
//   - carp: the backend that a key belongs to, within a bound on its load.
//
// Around the pool:
//
//   - lbhttp: an http.RoundTripper over any balancer.
//   - health: probes that take members out and bring them back.
//   - subset: the few backends that one client of a large fleet talks to.
//   - lbtest: tests for balancers, and for programs that must end their leases.
//
// # What it does by default
//
// The zero [Config] ejects by outcome (see [Ejection]) and lets members that are
// new or back start at a small share (see [SlowStart]). It sets no limit on the
// calls in flight, so nothing ever waits (see Config.MaxInFlight).
//
// Ejection compares a member with the others at the same time. What all of them
// suffer, such as a dependency that fails, is nobody's fault: it ejects nobody
// beyond chance, and an ejection after which the others fail as well is taken back.
// A member that nobody else can be compared with is judged by its failures in a
// row alone.
//
// Slow start compares, too: only the relation of the shares matters, so members
// that are all new share evenly. The members that are not in slow start carry at
// most twice their own part of a tier.
//
// A failure is never cheap, even with ejection off. A failed call counts as load on
// its backend until the others have finished about one call each. This is the
// penalty: a backend that fails at once cannot look idle and draw the traffic.
//
// A backend that says it is busy ([BusyError], [OutcomeOverloaded]) is loaded, not
// sick: it gets the same penalty, no rule counts the call, and the pool leaves the
// backend alone for as long as it asked, within a bound.
//
// Calls go to the members of the lowest tier ([Member]). As a tier loses members or
// places, a growing share of its calls goes to the next one.
//
// # Looking on
//
// [Pool.All] and [Pool.Stats] show the pool as it is. Config.OnEvent and
// [Pool.Observe] get every change of it, and [Pool.ObserveLeases] the begin and end
// of every lease. Statistics and events marshal as JSON and are slog.LogValuers.
//
// # Concurrency
//
// Everything exported is safe for use by many goroutines at once, unless its
// comment says otherwise. A pick never waits for a lock and allocates nothing. While a
// change by time is due in the pool (an ejection or a pause that ends, a step of
// slow start) a pick also reads the clock, and makes the change if it finds the
// pool's lock free. The lease that is a trial takes the lock.
//
// The package starts no goroutine. It sets a timer only for a call that waits in
// the backlog; everything else that depends on time is worked out from Config.Now
// when a pick, or whoever looks at the pool, needs it.
package evenkeel
