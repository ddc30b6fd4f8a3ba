// Package sqf balances by shortest queue first: it looks at every backend and takes the
// least loaded one. The rule is also known as least connections, least request, and join
// the shortest queue.
//
// Where one balancer sees all the traffic and its own counts, nothing serves better. It
// costs time in proportion to the number of backends unless one is idle, and it herds
// where many balancers share the backends or the load figures are old: there package p2c
// is the safer choice.
package sqf

import "github.com/evenkeel-go/evenkeel"

// Config is what there is to choose. The zero value is the recommended set-up.
type Config struct {
	// Seed makes the draws a fixed sequence, so that a run can be repeated. 0: different
	// in every process.
	Seed uint64
}

// Balancer picks the least loaded backend. Ties are broken at random, without favour for
// an index or a neighbour. Where weights differ a load is divided by the weight, and ties
// go in proportion to it.
type Balancer[T comparable] = evenkeel.Dispatcher[T]

// New returns a balancer over pool.
func New[T comparable](pool *evenkeel.Pool[T]) *Balancer[T] {
	return evenkeel.NewDispatcher(pool, Policy{})
}

// NewWith returns a balancer as cfg says. The error is always nil.
func NewWith[T comparable](pool *evenkeel.Pool[T], cfg Config) (*Balancer[T], error) {
	return evenkeel.NewSeededDispatcher(pool, Policy{}, cfg.Seed), nil
}

// Policy is the rule by itself, for evenkeel.NewDispatcher and for policies that wrap it.
type Policy struct{}

// Choose takes the least loaded of all.
func (Policy) Choose(v evenkeel.View) (int, evenkeel.Load) { return v.Least() }
