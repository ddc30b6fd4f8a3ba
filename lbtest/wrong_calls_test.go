package lbtest

import (
	"context"
	"errors"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

var wrongCalls = map[string]wrongBalancer{
	"does not look at the context": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if ctx == nil {
				return b.Lease(ctx)
			}
			return b.Lease(context.WithoutCancel(ctx))
		}}
	}, []string{"DeadContext", "Outcomes", "Backlog"}},

	"replaces the context": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if ctx != nil && ctx.Err() == nil {
				ctx = context.Background()
			}
			return b.Lease(ctx)
		}}
	}, []string{"Outcomes", "Backlog"}},

	"hides the cause": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if ctx != nil && ctx.Err() != nil {
				return lease{}, ctx.Err()
			}
			return b.Lease(ctx)
		}}
	}, []string{"DeadContext"}},

	"returns a lease with an error": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			if ctx == nil {
				return b.Lease(ctx)
			}
			if l, err = b.Lease(context.WithoutCancel(ctx)); err == nil {
				err = context.Cause(ctx)
			}
			return
		}}
	}, []string{"DeadContext"}},

	"panics without a context": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if ctx.Err() != nil {
				return lease{}, context.Cause(ctx)
			}
			return b.Lease(ctx)
		}}
	}, []string{"NilContext"}},

	"takes no context for the background": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			if ctx == nil {
				ctx = context.Background()
			}
			return b.Lease(ctx)
		}}
	}, []string{"NilContext"}},

	"refuses at the limit with no word of it": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			if l, err = b.Lease(ctx); errors.Is(err, evenkeel.ErrOverloaded) {
				err = evenkeel.ErrNoBackends
			}
			return
		}}
	}, []string{"Limit"}},

	"refuses to pick at the limit": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, pick: func() (string, error) {
			for backend, s := range p.All() {
				if s.InFlight < 2 {
					return backend, nil
				}
			}
			return "", evenkeel.ErrOverloaded
		}}
	}, []string{"Limit"}},

	"does not wait": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			for _, s := range p.All() {
				if s.InFlight > 0 && p.Len() == 1 {
					return lease{}, &evenkeel.OverloadedError{}
				}
			}
			return b.Lease(ctx)
		}}
	}, []string{"Backlog"}},

	"waits although the call must not": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			call.NoWait = false
			return b.LeaseFor(ctx, call)
		}}
	}, []string{"NoWait"}},

	"refuses every call that must not wait": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			if call.NoWait {
				return lease{}, &evenkeel.OverloadedError{}
			}
			return b.LeaseFor(ctx, call)
		}}
	}, []string{"NoWait"}},

	"forgets what a call that must not wait must avoid": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			if call.NoWait {
				call.Avoid = nil
			}
			return b.LeaseFor(ctx, call)
		}}
	}, []string{"NoWait"}},

	"counts before it looks at the loads": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			first, err := b.Lease(ctx)
			if err != nil {
				return lease{}, err
			}
			_, err = b.Pick() // a panic of the signal passes here
			first.Release()
			if err != nil {
				return lease{}, err
			}
			return b.Lease(ctx)
		}}
	}, []string{"Panics"}},

	"stays locked after a panic": {func(p *pool) balancer {
		b := p2c.New(p)
		lock := make(chan struct{}, 1)
		return &wrong{balancer: b, lease: func(ctx context.Context) (l lease, err error) {
			if ctx == nil {
				return b.Lease(ctx)
			}
			select {
			case lock <- struct{}{}:
			case <-ctx.Done():
				return lease{}, context.Cause(ctx)
			}
			l, err = b.Lease(ctx)
			<-lock // not deferred
			return
		}}
	}, []string{"Panics"}},
}
