// Package roundrobin balances by turn: each backend gets a call before any gets the next
// one, whatever their loads.
//
// It is exact where calls cost the same and backends are alike. A backend that is slower
// than the others gets as many calls as they do and drowns: packages p2c and sqf notice.
package roundrobin

import "github.com/evenkeel-go/evenkeel"

// Config is what there is to choose. The zero value is the recommended set-up.
type Config struct {
	// Seed fixes where the first round starts, so that a run can be repeated. 0: anywhere,
	// so that many balancers do not start at one backend.
	Seed uint64
}

// Balancer takes the backends that are in by turns. Over any n picks of n backends each
// gets exactly one, from many goroutines too. When the set changes the round goes on
// behind the backend that was taken last, or, if that is gone, at the first one behind it
// that is left. Where weights differ the turns are spread out in proportion to them.
type Balancer[T comparable] = evenkeel.Dispatcher[T]

// New returns a balancer over pool.
func New[T comparable](pool *evenkeel.Pool[T]) *Balancer[T] {
	return evenkeel.NewDispatcher(pool, Policy{})
}

// NewWith returns a balancer as cfg says. The error is always nil.
func NewWith[T comparable](pool *evenkeel.Pool[T], cfg Config) (*Balancer[T], error) {
	return evenkeel.NewSeededDispatcher(pool, Policy{}, cfg.Seed), nil
}

// Policy is the rule by itself, for evenkeel.NewDispatcher and for policies that wrap it;
// a wrapper passes Prepare on.
type Policy struct{}

// Prepare makes the order of turns for a membership. It goes on where the last one
// stopped.
func (Policy) Prepare(v evenkeel.View, last any) any {
	next := newRound(v)
	if old, ok := last.(*round); !ok || !next.follow(old) {
		next.startAt(v.RandN(next.len()))
	}
	return next
}

// Choose takes the next turn of the round. Among backends that are left for a retry, or
// that have room, there is no turn to keep: one is drawn, so that no neighbour of those
// left out gets their share.
func (Policy) Choose(v evenkeel.View) (int, evenkeel.Load) {
	r, ok := v.Prepared().(*round)
	if !ok {
		return v.Draw(), evenkeel.Load{}
	}
	return r.take(), evenkeel.Load{}
}
