// Package random balances by lot: every call goes to a random backend, whatever its load.
// It is what the lighttpd module mod-proxy-core calls round robin.
//
// It is the floor to measure other policies against, and right where a backend's load must
// not matter. It leaves one server busy while another is idle: package p2c costs hardly
// more.
package random

import "github.com/evenkeel-go/evenkeel"

// Config is what there is to choose. The zero value is the recommended set-up.
type Config struct {
	// Seed makes the draws a fixed sequence, so that a run can be repeated. 0: different
	// in every process.
	Seed uint64
}

// Balancer picks a random backend, each in proportion to its weight.
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

// Choose draws one. It compares nothing, so there is no race to lose.
func (Policy) Choose(v evenkeel.View) (int, evenkeel.Load) { return v.Draw(), evenkeel.Load{} }
