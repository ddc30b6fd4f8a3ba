package lbtest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-go/evenkeel"
)

type pool = evenkeel.Pool[string]
type lease = evenkeel.Lease[string]
type balancer = evenkeel.Balancer[string]

// A wrongBalancer makes one mistake, and the checks named must notice it, every
// time: none of them may need luck for it.
type wrongBalancer struct {
	construct constructor
	caughtBy  []string
}

// wrong is a right balancer but for the functions that are set.
type wrong struct {
	balancer
	pick     func() (string, error)
	lease    func(ctx context.Context) (lease, error)
	leaseFor func(ctx context.Context, call evenkeel.Call[string]) (lease, error)
}

func (w *wrong) Pick() (string, error) {
	if w.pick != nil {
		return w.pick()
	}
	return w.balancer.Pick()
}

func (w *wrong) Lease(ctx context.Context) (lease, error) {
	if w.lease != nil {
		return w.lease(ctx)
	}
	return w.balancer.Lease(ctx)
}

func (w *wrong) LeaseFor(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
	if w.leaseFor != nil {
		return w.leaseFor(ctx, call)
	}
	return w.balancer.LeaseFor(ctx, call)
}

// avoiding is a Lease of lb for a call that must avoid some backends.
func avoiding(ctx context.Context, lb balancer, avoid []string) (lease, error) {
	return lb.LeaseFor(ctx, evenkeel.Call[string]{Avoid: avoid})
}

// wrongPolicy is a policy as a function.
type wrongPolicy func(v evenkeel.View) (int, evenkeel.Load)

func (f wrongPolicy) Choose(v evenkeel.View) (int, evenkeel.Load) { return f(v) }

func withPolicy(p *pool, f wrongPolicy) balancer {
	return evenkeel.NewDispatcher(p, f)
}

// anotherPool is a pool with the same members.
func anotherPool(p *pool) *pool {
	other, err := evenkeel.NewPool(evenkeel.Config{}, members(p)...)
	if err != nil {
		panic(err)
	}
	return other
}

func TestRunFindsWrongBalancers(t *testing.T) {
	// These checks wait for what may never come. In a bubble time passes at once,
	// so that their patience costs none.
	patient := []string{"Backlog", "NoWait", "Panics"}

	proven := map[string]bool{}
	for about, balancers := range map[string]map[string]wrongBalancer{
		"counts": wrongCounts, "members": wrongMembers, "calls": wrongCalls,
		"avoid": wrongAvoid, "interleaved": wrongInterleaved,
	} {
		for name, wrong := range balancers {
			for _, check := range wrong.caughtBy {
				proven[check] = true
			}
			t.Run(about+"/"+name, func(t *testing.T) {
				caught := map[string]string{}
				for _, c := range checks {
					run := func(t *testing.T) {
						if failed := record(t, func(t testing.TB) { c.run(t, wrong.construct) }); failed != "" {
							caught[c.name] = failed
						}
					}
					if slices.Contains(patient, c.name) {
						synctest.Test(t, run)
					} else {
						run(t)
					}
				}
				for _, name := range wrong.caughtBy {
					assert.Contains(t, caught, name)
				}
				t.Log(caught)
			})
		}
	}
	for _, c := range checks {
		assert.True(t, proven[c.name], "no wrong balancer is known that %s catches", c.name)
	}
}
