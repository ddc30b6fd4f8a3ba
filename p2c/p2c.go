// Package p2c balances by the power of two choices: it looks at two different backends
// drawn at random and takes the less loaded one (Mitzenmacher, "The power of two choices
// in randomized load balancing", 2001). Envoy calls it LEAST_REQUEST, others "random two
// least connections".
//
// It costs the same for any number of backends: it is for pools of so many that a look at
// all of them is too dear. Where the loads are a signal that is old and the same for many
// balancers it herds less than a full scan does. By its own counts package sqf serves
// better, with one balancer and with many. Reports of the servers do not help two choices:
// of two backends drawn at random the reports are rarely fresh.
package p2c

import (
	"fmt"

	"github.com/evenkeel-go/evenkeel"
)

// Config is what there is to choose. The zero value is the recommended set-up.
type Config struct {
	// D is how many different backends are looked at. 0: 2. 1 is a random choice; D at or
	// above the number of backends is a full scan. Negative is refused.
	D int

	// Seed makes the draws a fixed sequence, so that a run can be repeated. 0: different
	// in every process.
	Seed uint64
}

// Balancer picks the less loaded of D random backends. Ties are broken at random. Where
// weights differ a load is divided by the weight and backends are drawn in proportion to
// it, so that an idle pool is used by weight too.
type Balancer[T comparable] = evenkeel.Dispatcher[T]

// New returns a balancer over pool that looks at two backends.
func New[T comparable](pool *evenkeel.Pool[T]) *Balancer[T] {
	return evenkeel.NewDispatcher(pool, new(two))
}

// NewWith returns a balancer as cfg says. The error matches evenkeel.ErrBadConfig.
func NewWith[T comparable](pool *evenkeel.Pool[T], cfg Config) (*Balancer[T], error) {
	if cfg.D < 0 {
		return nil, fmt.Errorf("%w: p2c.Config.D: %d is negative", evenkeel.ErrBadConfig, cfg.D)
	}
	if cfg.D == 0 || cfg.D == 2 {
		return evenkeel.NewSeededDispatcher(pool, new(two), cfg.Seed), nil
	}
	return evenkeel.NewSeededDispatcher(pool, Policy{D: cfg.D}, cfg.Seed), nil
}

// Policy is the rule by itself, for evenkeel.NewDispatcher and for policies that wrap it.
// The zero value looks at two backends.
type Policy struct {
	// D is as in Config. Negative stands for 1.
	D int
}

// Choose draws two backends in random order and takes the first unless the second is less
// loaded: on a tie either is as likely.
func (p Policy) Choose(v evenkeel.View) (int, evenkeel.Load) {
	if p.D != 0 && p.D != 2 || v.Len() < 2 {
		return chooseOfD(v, p.D)
	}
	return v.LesserOfTwo()
}

// two is Policy{}. The method of a pointer is called without a copy of what it points to.
type two struct{}

// Choose is that of Policy.
func (*two) Choose(v evenkeel.View) (int, evenkeel.Load) { return v.LesserOfTwo() }
