package lbtest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

var wrongMembers = map[string]wrongBalancer{
	"picks from nowhere": {func(p *pool) balancer {
		return &wrong{balancer: p2c.New(p), pick: func() (string, error) { return "elsewhere", nil }}
	}, []string{"PickCountsNothing", "Empty", "Eject", "Replace", "Concurrent"}},

	"picks what it picked last": {func(p *pool) balancer {
		b := p2c.New(p)
		var last atomic.Pointer[string]
		return &wrong{balancer: b, pick: func() (string, error) {
			if l := last.Load(); l != nil {
				return *l, nil
			}
			l, err := b.Pick()
			if err == nil {
				last.Store(&l)
			}
			return l, err
		}}
	}, []string{"Empty", "Eject", "Drain", "Replace"}},

	"picks any member, whatever its state": {func(p *pool) balancer {
		var next atomic.Uint64
		return &wrong{balancer: p2c.New(p), pick: func() (string, error) {
			list := members(p)
			if len(list) == 0 {
				return "", evenkeel.ErrNoBackends
			}
			return list[next.Add(1)%uint64(len(list))], nil
		}}
	}, []string{"AllEjected", "AllDrained", "Eject", "Drain", "Health", "EjectedByOutcome", "LastOne"}},

	"uses a list of its own": {func(p *pool) balancer {
		b := p2c.New(p)
		first, err := b.Pick()
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if err != nil || ctx == nil {
				return b.Lease(ctx)
			}
			return avoiding(ctx, b, without(first, members(p)...))
		}}
	}, []string{"Eject", "Drain", "Replace", "LastOne", "Limit"}},

	"knows one index": {func(p *pool) balancer {
		return withPolicy(p, func(evenkeel.View) (int, evenkeel.Load) { return 1, evenkeel.Load{} })
	}, []string{"Counts", "EndsOnce", "Replace", "LastOne"}},

	"has an error of its own for an empty pool": {func(p *pool) balancer {
		b := p2c.New(p)
		own := errors.New("nobody there")
		return &wrong{balancer: b,
			pick: func() (string, error) {
				backend, err := b.Pick()
				if err != nil {
					err = own
				}
				return backend, err
			},
			lease: func(ctx context.Context) (l lease, err error) {
				if l, err = b.Lease(ctx); errors.Is(err, evenkeel.ErrNoBackends) {
					err = own
				}
				return
			}}
	}, []string{"Empty", "AllEjected", "AllDrained", "Backlog"}},

	"has no error for an empty pool": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			if l, err = b.Lease(ctx); errors.Is(err, evenkeel.ErrNoBackends) {
				err = nil
			}
			return
		}}
	}, []string{"Empty", "AllEjected", "AllDrained", "Backlog"}},

	"restores all when all are out": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if _, err := b.Pick(); err != nil {
				for backend := range p.All() {
					_ = p.Restore(backend)
					_ = p.SetWeight(backend, 1)
				}
			}
			return b.Lease(ctx)
		}}
	}, []string{"AllEjected", "AllDrained"}},
}
