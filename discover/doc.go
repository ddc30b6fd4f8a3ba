// Package discover keeps the members of a pool in step with where the servers really
// are: DNS, SRV records, a file, a registry behind a function.
//
//	follower, err := discover.Follow(ctx, pool, &discover.DNS{Host: "orders.internal:8080"}, discover.Config{})
//	if err != nil { ... } // no answer in time
//	defer follower.Close()
//
// # The promise
//
// Bad news from the source never empties a pool that works. The last good set of
// members stays in use
//
//   - while lookups fail, or time out, for as long as Config.MaxStale says, which is for
//     ever by default;
//   - while the answers hold no member that could get a call, likewise;
//   - while the answers hold far fewer members than before (Config.MaxShrink): what such
//     an answer adds joins at once, and what it leaves out stays until the source has
//     said so for Config.ShrinkAfter.
//
// Each of these is an event of the pool (evenkeel.EventSource) when it begins and when
// it is over, and stands in [Follower.Stats] meanwhile. What the servers themselves are
// worth is for ejection and health checks to say: discover never ejects anyone.
//
// # When the source is asked
//
// After Config.Interval or the answer's own TTL, whichever is less; after a failure
// sooner, with growing waits; and at once when the source itself says that its answer
// has changed, when the pool ejects a backend, or when [Follower.Refresh] is called. Two
// lookups never begin within Config.MinInterval of each other, and never overlap.
//
// # Sources
//
//   - [DNS]: the addresses of a host name, with a port.
//   - [SRV]: SRV records, with their ports and weights, and priorities as tiers.
//   - [File]: a file that is read again and again.
//   - [Static]: a fixed list.
//   - [Func]: a function, for any registry.
//   - [Resolved], [Step], [Subset]: a source made from another one.
//
// [Parse] makes a source from a text such as "dns://orders.internal:8080".
//
// # Duplicates
//
// A backend that stands in an answer twice is one member: that of the lowest tier, and
// in it the one of the greatest weight. The order of an answer does not matter; an
// answer that changes nothing leaves the pool alone.
package discover
