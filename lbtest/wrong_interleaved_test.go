package lbtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel/p2c"
)

// These are right as long as one call follows the other.
var wrongInterleaved = map[string]wrongBalancer{
	"looks before a change and picks after it": {func(p *pool) balancer {
		// Calls that come while one is looking share what it finds.
		type look struct {
			over    chan struct{}
			backend string
			err     error
		}
		b := p2c.New(p)
		var mu sync.Mutex
		var looking *look
		return &wrong{balancer: b, pick: func() (string, error) {
			mu.Lock()
			if l := looking; l != nil {
				mu.Unlock()
				<-l.over
				return l.backend, l.err
			}
			l := &look{over: make(chan struct{})}
			looking = l
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				looking = nil
				close(l.over)
			}()
			l.backend, l.err = pickEarly(b)
			return l.backend, l.err
		}}
	}, []string{"Interleaved"}},

	"takes what the call found that held the lock": {func(p *pool) balancer {
		b := p2c.New(p)
		var mu sync.Mutex
		var found string
		return &wrong{balancer: b, pick: func() (string, error) {
			if !mu.TryLock() {
				mu.Lock()
				defer mu.Unlock()
				return found, nil
			}
			defer mu.Unlock()
			backend, err := pickEarly(b)
			found = backend
			return backend, err
		}}
	}, []string{"Interleaved"}},

	"files an old pick under the new state of the pool": {func(p *pool) balancer {
		type kept struct{ state, backend string }
		b := p2c.New(p)
		var last atomic.Pointer[kept]
		return &wrong{balancer: b, pick: func() (string, error) {
			if k := last.Load(); k != nil && k.state == stateOf(p) {
				return k.backend, nil
			}
			backend, err := pickEarly(b)
			if err == nil {
				last.Store(&kept{stateOf(p), backend})
			}
			return backend, err
		}}
	}, []string{"Interleaved"}},

	"fails when its choice goes out before the lease": {func(p *pool) balancer {
		b := p2c.New(p)
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			backend, err := b.Pick()
			if ctx == nil || err != nil {
				return b.Lease(ctx)
			}
			return avoiding(ctx, b, without(backend, members(p)...))
		}}
	}, []string{"Interleaved"}},

	"keeps a lease when calls come together": {func(p *pool) balancer {
		b := p2c.New(p)
		var under atomic.Int64
		return &wrong{balancer: b, lease: func(ctx context.Context) (lease, error) {
			defer under.Add(-1)
			if under.Add(1) > 1 {
				_, _ = b.Lease(ctx)
			}
			return b.Lease(ctx)
		}}
	}, []string{"Interleaved"}},
}

// pickEarly is a pick that takes a while after it has chosen: it picks once more, which
// gives the pool time to change.
func pickEarly(b balancer) (string, error) {
	backend, err := b.Pick()
	_, _ = b.Pick()
	return backend, err
}

// stateOf is the state of every member.
func stateOf(p *pool) string {
	var state string
	for backend, stats := range p.All() {
		state += fmt.Sprint(backend, stats.State, stats.Used)
	}
	return state
}
