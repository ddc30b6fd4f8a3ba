// Package evenkeel is a client-side load balancer that a Go program embeds: for
// every call a service makes, it picks one of the identical servers behind a
// name, counts the call while it is in flight, and takes broken servers out.
//
// Three things stay apart:
//
//   - WHO can be picked: a [Pool] holds the members, their weights, and who of
//     them is ejected.
//   - HOW LOADED a member is: one number for each, made in this package from the
//     calls in flight, failures that came back too soon, and the weight; or from
//     a signal of the caller's own ([Pool.SetLoad]).
//   - WHICH one is taken: a [Policy]. The policies are in packages p2c, sqf,
//     roundrobin and random; each gives a Balancer with Pick and Lease.
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
// and ends exactly once, whoever ends it and however often.
//
// # What it does by default
//
// The zero [Config] ejects by outcome (see [Ejection]) and lets members that are
// new or back start at a small share (see [SlowStart]). It sets no limit on the
// calls in flight, so nothing ever waits (see Config.MaxInFlight). A failure is
// never cheap, even with ejection off: a backend that fails at once keeps the
// failed call on its books until the others have finished about one each, so it
// cannot look idle and draw the traffic.
//
// # Concurrency
//
// Everything exported is safe for use by many goroutines at once, unless its
// comment says otherwise. A pick takes no lock and allocates nothing; while a
// backend is ejected it also reads the clock, and the one lease in an ejection that
// is its trial takes the pool's lock. The package
// starts no goroutine and no timer: what depends on time (the end of an ejection)
// is worked out from Config.Now when a pick needs it.
package evenkeel
