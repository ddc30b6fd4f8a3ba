// Package carp sends the calls with one key to one backend, so that a server sees the
// keys whose data it holds in its cache. It is the method of CARP, the Cache Array Routing
// Protocol: weighted rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings
// to increase hit rates", 1998), with a bound on the load of each backend (Mirrokni, Thorup
// and Zadimoghaddam, "Consistent hashing with bounded loads", 2018).
//
//	lb := carp.New(pool)
//	err := evenkeel.Do(carp.WithKey(ctx, url), lb, call)
//
// Every key has an order of all backends, which depends on nothing but the key, the names
// of the backends (View.Hash) and the weights that were set: it is the same in every
// process, on every machine and for any order of the members. A call goes to the first
// backend in that order that can take it:
//
//   - One that is out of rotation, or that the call avoids (Call.Avoid, a retry), is passed
//     over. Its keys spread over all others, and no other key moves. When it is back they
//     come home.
//   - One that is at its bound is passed over: LoadFactor (1.25) times its share, by weight,
//     of the load of all. So a key that is asked for by everybody does not drown its
//     backend, and what flows over goes to the same next choices each time.
//   - One in slow start takes the part of its keys that its share allows, and more with each
//     step. Every key moves to it once.
//
// Weights act exactly: those of 1:2:3 get keys in that ratio, and a weight that is raised
// moves keys to its backend only.
//
// A call without a key goes by a policy for such calls: two random choices, or
// Config.Fallback.
//
// A pick looks at every backend. While several tiers share the calls, a key has an order in
// each of them.
package carp

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
)

// Config is what there is to choose. The zero value is the recommended set-up.
type Config struct {
	// LoadFactor is how many times its share of the load a backend may hold, rounded up to
	// a whole call: at least 1. The nearer to 1, the more calls leave the first choice of
	// their key. 0: 1.25. +Inf: no bound, which is plain rendezvous hashing.
	LoadFactor float64

	// Fallback places the calls that have no key. nil: the less loaded of two random
	// backends.
	Fallback evenkeel.Policy

	// Seed makes the random draws for calls without a key a fixed sequence, so that a run
	// can be repeated. 0: different in every process. Keys are not affected.
	Seed uint64
}

// Balancer sends the calls with one key to one backend. The key is Call.Key or, where that
// is "", the one that WithKey put into the context. The zero Balancer, and a nil one, refuse
// every call with an error that matches evenkeel.ErrBadConfig.
type Balancer[T comparable] struct {
	keyed, keyless *evenkeel.Dispatcher[T]
	without        atomic.Uint64
}

// New returns a balancer over pool.
func New[T comparable](pool *evenkeel.Pool[T]) *Balancer[T] {
	return newBalancer(pool, Config{})
}

// NewWith returns a balancer as cfg says. The error matches evenkeel.ErrBadConfig.
func NewWith[T comparable](pool *evenkeel.Pool[T], cfg Config) (*Balancer[T], error) {
	if cfg.LoadFactor != 0 && !(cfg.LoadFactor >= 1) {
		return nil, fmt.Errorf("%w: carp.Config.LoadFactor: %v is not a number of 1 or more", evenkeel.ErrBadConfig, cfg.LoadFactor)
	}
	return newBalancer(pool, cfg), nil
}

func newBalancer[T comparable](pool *evenkeel.Pool[T], cfg Config) *Balancer[T] {
	b := &Balancer[T]{keyed: evenkeel.NewSeededDispatcher(pool, Policy{LoadFactor: cfg.LoadFactor}, cfg.Seed)}
	b.keyless = b.keyed
	if cfg.Fallback != nil {
		b.keyless = evenkeel.NewSeededDispatcher(pool, cfg.Fallback, cfg.Seed)
	}
	return b
}

// Pool returns the pool that is picked from, nil for a Balancer that refuses every call.
func (b *Balancer[T]) Pool() *evenkeel.Pool[T] {
	if b == nil {
		return nil
	}
	return b.keyed.Pool()
}

// Pick chooses as for a call without a key, and counts nothing. It never blocks.
func (b *Balancer[T]) Pick() (T, error) { return b.forKeyless().Pick() }

// Lease is LeaseFor with the zero Call: the key is that of ctx.
func (b *Balancer[T]) Lease(ctx context.Context) (evenkeel.Lease[T], error) {
	if key := keyOf(ctx); key != "" {
		return b.forKeyed().LeaseFor(ctx, evenkeel.Call[T]{Key: key})
	}
	return b.forKeyless().Lease(ctx)
}

// LeaseFor chooses a backend for a call and counts the call there until the lease ends. Its
// errors are those of evenkeel.Dispatcher.LeaseFor.
func (b *Balancer[T]) LeaseFor(ctx context.Context, call evenkeel.Call[T]) (evenkeel.Lease[T], error) {
	if call.Key == "" {
		call.Key = keyOf(ctx)
	}
	if call.Key == "" {
		return b.forKeyless().LeaseFor(ctx, call)
	}
	return b.forKeyed().LeaseFor(ctx, call)
}

// WithoutKey returns how many calls and picks had no key, those that failed included. A
// number that should be 0 and rises means that a caller forgets the key.
func (b *Balancer[T]) WithoutKey() uint64 {
	if b == nil {
		return 0
	}
	return b.without.Load()
}

func (b *Balancer[T]) forKeyed() *evenkeel.Dispatcher[T] {
	if b == nil {
		return nil // which refuses every call
	}
	return b.keyed
}

func (b *Balancer[T]) forKeyless() *evenkeel.Dispatcher[T] {
	if b == nil {
		return nil
	}
	b.without.Add(1)
	return b.keyless
}
