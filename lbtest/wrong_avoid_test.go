package lbtest

import (
	"context"
	"errors"
	"slices"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

var wrongAvoid = map[string]wrongBalancer{
	"does not avoid": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, _ evenkeel.Call[string]) (lease, error) { return b.Lease(ctx) }}
	}, []string{"Avoid", "AvoidRefused", "AvoidUnderWay"}},

	"avoids the first of the list only": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			return avoiding(ctx, b, call.Avoid[:min(len(call.Avoid), 1)])
		}}
	}, []string{"Avoid", "AvoidUnderWay"}},

	"goes back to what was tried when nothing else is left": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (l lease, err error) {
			if l, err = b.LeaseFor(ctx, call); errors.Is(err, evenkeel.ErrNoBackends) {
				return b.Lease(ctx)
			}
			return
		}}
	}, []string{"Avoid", "AvoidUnderWay"}},

	"goes back to what was tried when the rest is at its limit": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (l lease, err error) {
			if l, err = b.LeaseFor(ctx, call); errors.Is(err, evenkeel.ErrOverloaded) {
				return b.Lease(ctx)
			}
			return
		}}
	}, []string{"AvoidRefused"}},

	"keeps the leases that it may not use": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (l lease, err error) {
			_, _ = b.Lease(ctx)
			return b.LeaseFor(ctx, call)
		}}
	}, []string{"Avoid", "AvoidUnderWay"}},

	"counts a call that must avoid all": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (l lease, err error) {
			if l, err = b.LeaseFor(ctx, call); errors.Is(err, evenkeel.ErrNoBackends) {
				_, _ = b.Lease(ctx)
			}
			return
		}}
	}, []string{"Avoid", "AvoidUnderWay"}},

	"has an error of its own when all are to be avoided": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (l lease, err error) {
			if l, err = b.LeaseFor(ctx, call); errors.Is(err, evenkeel.ErrNoBackends) {
				err = errors.New("all tried")
			}
			return
		}}
	}, []string{"Avoid", "AvoidUnderWay"}},

	"sorts the caller's list": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			slices.Sort(call.Avoid)
			return b.LeaseFor(ctx, call)
		}}
	}, []string{"Avoid"}},

	"avoids members by their index": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			return avoiding(ctx, b, members(p)[:min(len(call.Avoid), p.Len())])
		}}
	}, []string{"Avoid", "AvoidRefused", "AvoidUnderWay"}},

	"forgets the context of a retry": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			if ctx == nil {
				return b.LeaseFor(ctx, call)
			}
			return b.LeaseFor(context.WithoutCancel(ctx), call)
		}}
	}, []string{"AvoidRefused"}},

	"retries in another pool": {func(p *pool) balancer {
		other := p2c.New(anotherPool(p))
		return &wrong{balancer: p2c.New(p), leaseFor: func(ctx context.Context, call evenkeel.Call[string]) (lease, error) {
			return other.LeaseFor(ctx, call)
		}}
	}, []string{"Avoid", "AvoidRefused", "AvoidUnderWay"}},
}
