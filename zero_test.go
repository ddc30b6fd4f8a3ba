package evenkeel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// What was not made by its constructor refuses every call with a clear error.
func TestZeroValues(t *testing.T) {
	var pool evenkeel.Pool[string]
	for _, err := range []error{pool.Replace("A"), pool.Eject("A"), pool.Restore("A"), pool.SetWeight("A", 1), pool.SetHealth("A", nil)} {
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
	}
	pool.SetLoad(nil)
	assert.Zero(t, pool.InFlight("A"))
	assert.Zero(t, pool.Len())
	assert.Zero(t, pool.Backlog())
	for range pool.All() {
		assert.Fail(t, "it has no members")
	}
	var zero p2c.Balancer[string]
	for _, lb := range []evenkeel.Balancer[string]{&zero, p2c.New(&pool), p2c.New[string](nil)} {
		_, err := lb.Pick()
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		lease, err := lb.Lease(context.Background())
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		lease.Done(nil)
		lease.Release()
		assert.Empty(t, lease.Backend())
	}
	assert.ErrorIs(t, evenkeel.Do(context.Background(), nil, func(context.Context, string) error { return nil }), evenkeel.ErrBadConfig)
}
