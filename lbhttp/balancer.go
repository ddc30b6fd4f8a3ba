package lbhttp

import (
	"context"
	"fmt"
	"reflect"

	"github.com/evenkeel-go/evenkeel"
)

// Balancer is what a Transport needs of a balancer. The balancers of all policy
// packages, over a pool of strings, implement it. Retries need one method more,
// see [Retry].
type Balancer interface {
	Lease(ctx context.Context) (evenkeel.Lease[string], error)
}

// avoider is a Balancer that can leave out backends that were tried.
type avoider interface {
	LeaseExcept(ctx context.Context, tried ...string) (evenkeel.Lease[string], error)
}

// pooled is a Balancer that says which pool it chooses from.
type pooled interface {
	Pool() *evenkeel.Pool[string]
}

// leaser is a Balancer with the optional methods that were found on it. The zero
// leaser has no balancer.
type leaser struct {
	lb    Balancer
	avoid avoider // nil: lb cannot leave out backends
}

var errNoBalancer = fmt.Errorf("%w: the lbhttp.Transport has no balancer; make it with NewTransport", evenkeel.ErrNil)

// newLeaser refuses a nil balancer and a nil pointer, which would otherwise panic
// at the first request.
func newLeaser(lb Balancer) (leaser, error) {
	if v := reflect.ValueOf(lb); !v.IsValid() || (v.Kind() == reflect.Pointer && v.IsNil()) {
		return leaser{}, errNoBalancer
	}
	avoid, _ := lb.(avoider)
	return leaser{lb, avoid}, nil
}

func (l leaser) missing() bool { return l.lb == nil }

func (l leaser) canAvoid() bool { return l.avoid != nil }

func (l leaser) lease(ctx context.Context) (evenkeel.Lease[string], error) {
	return l.lb.Lease(ctx)
}

// leaseOther leases a backend that is none of tried. It may be called only if
// canAvoid.
func (l leaser) leaseOther(ctx context.Context, tried []string) (evenkeel.Lease[string], error) {
	return l.avoid.LeaseExcept(ctx, tried...)
}

// check parses every member of the balancer's pool, if its pool is known.
func (l leaser) check() error {
	p, ok := l.lb.(pooled)
	if !ok || p.Pool() == nil {
		return nil
	}
	for backend := range p.Pool().All() {
		if _, err := ParseBackend(backend); err != nil {
			return err
		}
	}
	return nil
}
