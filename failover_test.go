package evenkeel_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func TestFailoverGoesElsewhere(t *testing.T) {
	pool := newPool(t, evenkeel.Config{Ejection: ejectionOff}, "A", "B", "C")
	f, err := evenkeel.NewFailover(evenkeel.Balancer[string](sqf.New(pool)), evenkeel.FailoverConfig{PerSecond: 1000})
	require.NoError(t, err)
	for range 100 {
		var on []string
		err := f.Do(t.Context(), func(_ context.Context, b string) error {
			on = append(on, b)
			assert.Equal(t, 1, pool.InFlight(b))
			for other := range pool.All() {
				if other != b {
					assert.Zero(t, pool.InFlight(other), "the attempt before has ended")
				}
			}
			if b != "C" {
				return errBroken
			}
			return nil
		})
		require.NoError(t, err)
		assert.Equal(t, "C", on[len(on)-1])
		assert.LessOrEqual(t, len(on), 3)
	}
	lbtest.RequireIdle(t, pool)
}

func TestFailoverSaysWhatFailed(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B")
	f := must(evenkeel.NewFailover(evenkeel.Balancer[string](sqf.New(pool)), evenkeel.FailoverConfig{}))
	other := errors.New("another")
	errs := []error{errBroken, other}
	n := 0
	err := f.Do(t.Context(), func(context.Context, string) error {
		n++
		return errs[n-1]
	})
	assert.Equal(t, 2, n, "there is no third backend")
	assert.ErrorIs(t, err, errBroken)
	assert.ErrorIs(t, err, other)
	assert.ErrorContains(t, err, "2 attempts failed")
	lbtest.RequireIdle(t, pool)
}

func TestFailoverStops(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	lb := evenkeel.Balancer[string](sqf.New(pool))
	tries := func(ctx context.Context, cfg evenkeel.FailoverConfig, err error) (n int) {
		f := must(evenkeel.NewFailover(lb, cfg))
		got := f.Do(ctx, func(context.Context, string) error {
			n++
			return err
		})
		assert.ErrorIs(t, got, err)
		return n
	}
	assert.Equal(t, 2, tries(t.Context(), evenkeel.FailoverConfig{Attempts: 2}, errBroken), "Attempts")
	assert.Equal(t, 1, tries(t.Context(), evenkeel.FailoverConfig{Share: -1, PerSecond: -1}, errBroken), "the budget is spent")
	assert.Equal(t, 1, tries(t.Context(), evenkeel.FailoverConfig{}, evenkeel.NotItsFault(errBroken)), "no failure")
	assert.Equal(t, 1, tries(t.Context(), evenkeel.FailoverConfig{Again: func(context.Context, error) bool { return false }}, errBroken), "Again")
	ctx, cancel := context.WithCancel(t.Context())
	f := must(evenkeel.NewFailover(lb, evenkeel.FailoverConfig{}))
	n := 0
	require.Error(t, f.Do(ctx, func(context.Context, string) error {
		n++
		cancel()
		return errBroken
	}))
	assert.Equal(t, 1, n, "the caller has gone")
	lbtest.RequireIdle(t, pool)
}

func TestFailoverRefusesBadInput(t *testing.T) {
	lb := evenkeel.Balancer[string](sqf.New(newPool(t, evenkeel.Config{}, "A")))
	_, err := evenkeel.NewFailover[string](nil, evenkeel.FailoverConfig{})
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	for _, cfg := range []evenkeel.FailoverConfig{{Attempts: -1}, {Share: 2}, {Share: math.NaN()}, {PerSecond: math.Inf(1)}} {
		_, err := evenkeel.NewFailover(lb, cfg)
		require.ErrorIs(t, err, evenkeel.ErrBadConfig, "%+v", cfg)
	}
	var none *evenkeel.Failover[string]
	require.ErrorIs(t, none.Do(t.Context(), func(context.Context, string) error { return nil }), evenkeel.ErrBadConfig)
	require.ErrorIs(t, must(evenkeel.NewFailover(lb, evenkeel.FailoverConfig{})).Do(t.Context(), nil), evenkeel.ErrBadConfig)
}
