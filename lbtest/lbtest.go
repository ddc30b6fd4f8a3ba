// Package lbtest tests balancers and the programs that use them, in the way
// testing/slogtest does for slog handlers.
//
// [Run] checks a balancer against the contract of evenkeel.Balancer. It is for
// whoever writes one: a policy of their own, or a wrapper around a balancer that
// chooses by zone, retries, or logs.
//
// [RequireIdle] is for whoever uses one: at the end of a test it fails if a lease
// is still open.
//
// Only tests should import this package.
package lbtest

import (
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// Run checks the balancers that newBalancer makes, in one subtest for each part
// of the contract, and reports every violation that it finds:
//
//   - Lease counts one call, on the backend it names, until the lease has ended:
//     once, whoever ends it and however often. Pick counts nothing.
//   - No count is left after an error, a panic, runtime.Goexit, a cancellation, a
//     deadline, or the removal of the backend.
//   - A call that cannot be served fails with an error that matches
//     evenkeel.ErrNoBackends, ErrOverloaded or ErrNil, or with context.Cause, and
//     counts nothing.
//   - Whatever Eject, SetWeight or Replace takes out is not picked once they have
//     returned, with calls under way too; what they leave or bring in can be: the
//     last usable backend of a pool is found.
//   - A call that must avoid some backends never gets one of them, and fails with
//     an error that matches evenkeel.ErrNoBackends where none is left.
//   - A call that must not wait fails with an error that matches
//     evenkeel.ErrOverloaded where it would have to, and never stands in the backlog.
//   - The end of a call is reported for the backend that had it, and judged with the
//     caller's own context.
//
// Run changes the pool in the middle of calls: where they look at the caller's
// context, at the load signal or at the pool's clock. So it finds mistakes in what
// happens at once without luck; a last part, with many goroutines, is an addition.
//
// It does not judge how evenly calls are spread. newBalancer is called several
// times, each time with a new pool that nothing else uses; the balancer must take
// its backends from that pool. Where it can fail to make one it should end the
// test. Run with -race to find unsynchronised state in the balancer.
//
// A constructor can be passed as it is: lbtest.Run(t, p2c.New[string]).
func Run[B evenkeel.Balancer[string]](t *testing.T, newBalancer func(pool *evenkeel.Pool[string]) B) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, func(pool *evenkeel.Pool[string]) evenkeel.Balancer[string] { return newBalancer(pool) })
		})
	}
}

// A check is one part of the contract.
type check struct {
	name string
	run  func(t testing.TB, construct constructor)
}

var checks = []check{
	{"Counts", checkCounts},
	{"PickCountsNothing", checkPick},
	{"EndsOnce", checkEndsOnce},
	{"Empty", checkEmpty},
	{"AllEjected", checkAllEjected},
	{"AllDrained", checkAllDrained},
	{"DeadContext", checkDeadContext},
	{"NilContext", checkNilContext},
	{"Eject", checkEject},
	{"Drain", checkDrain},
	{"Health", checkHealth},
	{"EjectedByOutcome", checkEjectedByOutcome},
	{"Replace", checkReplace},
	{"LastOne", checkLastOne},
	{"OpenLeaseOfRemoved", checkRemoved},
	{"Outcomes", checkOutcomes},
	{"Do", checkDo},
	{"Avoid", checkAvoid},
	{"AvoidRefused", checkAvoidRefused},
	{"AvoidUnderWay", checkAvoidUnderWay},
	{"Panics", checkPanics},
	{"Limit", checkLimit},
	{"Backlog", checkBacklog},
	{"NoWait", checkNoWait},
	{"Interleaved", checkInterleaved},
	{"Concurrent", checkConcurrent},
}
