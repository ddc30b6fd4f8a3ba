// Package roundrobin balances by turn: each backend gets a call before any gets
// the next one, whatever their loads.
//
// It is exact where calls cost the same and backends are alike. A backend that is
// slower than the others gets as many calls as they do and drowns: packages p2c
// and sqf notice.
package roundrobin

import (
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// Config is what there is to choose. The zero value is the recommended set-up.
type Config struct {
	// Seed fixes where the first round starts, so that a run can be repeated. 0:
	// anywhere, so that many balancers do not start at one backend.
	Seed uint64
}

// Balancer takes the backends that are in by turns. Over any n picks of n
// backends each gets exactly one, from many goroutines too. When the set changes
// the round goes on behind the backend that was taken last, or, if that is gone,
// at the first one behind it that is left. Where weights differ the turns are
// spread out in proportion to them.
type Balancer[T comparable] struct {
	evenkeel.Dispatcher[T]
}

// New returns a balancer over pool.
func New[T comparable](pool *evenkeel.Pool[T]) *Balancer[T] { return NewWith(pool, Config{}) }

// NewWith returns a balancer as cfg says.
func NewWith[T comparable](pool *evenkeel.Pool[T], cfg Config) *Balancer[T] {
	return &Balancer[T]{evenkeel.NewDispatcher(pool, &policy{source: draw.NewSource(cfg.Seed)})}
}

type policy struct {
	source draw.Source
	round  atomic.Pointer[round]
}

// Choose takes the next turn of the round. Among backends that are left for a
// retry, or that have room, there is no turn to keep: one is drawn, so that no
// neighbour of those left out gets their share.
func (p *policy) Choose(v evenkeel.View) (int, evenkeel.Load) {
	if v.Partial() {
		return v.Draw(p.source.Uint64()), evenkeel.Load{}
	}
	r := p.round.Load()
	if r == nil || r.version != v.Version() {
		r = p.renew(r, v)
	}
	return r.take(), evenkeel.Load{}
}

// renew makes the round for a set that has changed.
func (p *policy) renew(old *round, v evenkeel.View) *round {
	next := newRound(v)
	if old == nil || !next.follow(old) {
		next.startAt(draw.Index(p.source.Uint64(), next.len()))
	}
	if !p.round.CompareAndSwap(old, next) {
		if r := p.round.Load(); r.version == next.version {
			return r
		}
	}
	return next
}
