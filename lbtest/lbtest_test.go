package lbtest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

func TestNilBalancer(t *testing.T) {
	nothing := func(*pool) balancer { return nil }
	for _, c := range checks {
		assert.Contains(t, record(t, func(t testing.TB) { c.run(t, nothing) }), "the balancer is nil", c.name)
	}
}

func TestRun(t *testing.T) {
	Run(t, p2c.New[string])
}

// A policy of one line, as a user may write it.
func TestRunOfForeignPolicy(t *testing.T) {
	Run(t, func(p *pool) balancer {
		return withPolicy(p, func(v evenkeel.View) (int, evenkeel.Load) { return v.Len() - 1, evenkeel.Load{} })
	})
}

func TestRequireIdle(t *testing.T) {
	p, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b")
	require.NoError(t, err)
	lb := p2c.New(p)
	check := func() string { return record(t, func(t testing.TB) { RequireIdle(t, p) }) }
	assert.Empty(t, check())

	require.NoError(t, p.Eject("b"))
	one, err := lb.Lease(t.Context())
	require.NoError(t, err)
	two, err := lb.Lease(t.Context())
	require.NoError(t, err)
	require.NoError(t, p.Restore("b"))
	assert.Contains(t, check(), "a: 2;")
	one.Release()
	assert.Contains(t, check(), "a: 1;")

	require.NoError(t, p.Replace("b"))
	assert.Contains(t, check(), "a (removed): 1;")
	two.Release()
	assert.Empty(t, check())

	assert.Contains(t, record(t, func(t testing.TB) { RequireIdle[int](t, nil) }), "nil")
}

// A call that failed stays on the books as load for a while: it is not open.
func TestRequireIdleAfterFailure(t *testing.T) {
	p, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "c")
	require.NoError(t, err)
	require.Error(t, evenkeel.Do(t.Context(), p2c.New(p), func(context.Context, string) error { return errors.New("down") }))
	RequireIdle(t, p)
}
