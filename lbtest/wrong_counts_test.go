package lbtest

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/evenkeel-go/evenkeel/p2c"
)

var wrongCounts = map[string]wrongBalancer{
	"takes two leases and returns one": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			_, _ = b.Lease(ctx)
			return b.Lease(ctx)
		}}
	}, []string{"Counts", "EndsOnce", "OpenLeaseOfRemoved", "Do", "Limit"}},

	"returns leases that have ended": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			l, err = b.Lease(ctx)
			l.Release()
			return
		}}
	}, []string{"Counts", "OpenLeaseOfRemoved", "Do", "Limit", "Outcomes"}},

	"counts a call ahead": {func(p *pool) balancer {
		b := p2c.New(p)
		var mu sync.Mutex
		var ahead *lease
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			mu.Lock()
			defer mu.Unlock()
			next, err := b.Lease(ctx)
			if err != nil {
				return lease{}, err
			}
			if ahead != nil {
				ahead.Release()
			}
			ahead = &next
			return b.Lease(ctx)
		}}
	}, []string{"Counts", "EndsOnce", "OpenLeaseOfRemoved", "Do", "Limit", "Interleaved"}},

	"ends the lease before by a copy of it": {func(p *pool) balancer {
		b := p2c.New(p)
		var mu sync.Mutex
		var before *lease
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			mu.Lock()
			defer mu.Unlock()
			if before != nil {
				before.Release()
			}
			l, err = b.Lease(ctx)
			before = new(lease)
			reflect.ValueOf(before).Elem().Set(reflect.ValueOf(&l).Elem()) // go vet sees the plain form
			return
		}}
	}, []string{"Counts", "EndsOnce", "OpenLeaseOfRemoved"}},

	"keeps a count from another pool": {func(p *pool) balancer {
		return p2c.New(anotherPool(p))
	}, []string{"Counts", "Empty", "AllEjected", "AllDrained", "Eject", "Drain", "Replace", "OpenLeaseOfRemoved", "Health", "EjectedByOutcome", "Outcomes", "Limit", "Interleaved"}},

	"counts its picks": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, pick: func() (string, error) {
			l, err := b.Lease(context.Background())
			return l.Backend(), err
		}}
	}, []string{"PickCountsNothing"}},

	"counts before it looks at the context": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			if ctx == nil {
				return b.Lease(ctx)
			}
			if l, err = b.Lease(context.WithoutCancel(ctx)); err == nil && ctx.Err() != nil {
				return lease{}, context.Cause(ctx)
			}
			l.Release()
			return b.Lease(ctx)
		}}
	}, []string{"DeadContext"}},

	"ends calls for another backend": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			first, err := b.Lease(ctx)
			if err != nil {
				return lease{}, err
			}
			if l, err = avoiding(ctx, b, []string{first.Backend()}); err != nil {
				return b.Lease(ctx)
			}
			first.Done(errors.New("tried the next one"))
			return
		}}
	}, []string{"Counts", "Outcomes"}},
}
