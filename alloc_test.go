//go:build !race

package evenkeel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// The budget of the hot path is no allocation at all. (The race detector
// allocates, so this is built without it.)
func TestHotPathAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	nothing := func(context.Context, string) error { return nil }
	ended := func(end func(l *evenkeel.Lease[string])) func(lb evenkeel.Balancer[string]) error {
		return func(lb evenkeel.Balancer[string]) error {
			lease, err := lb.Lease(ctx)
			end(&lease)
			return err
		}
	}
	paths := map[string]func(lb evenkeel.Balancer[string]) error{
		"Pick":          func(lb evenkeel.Balancer[string]) error { _, err := lb.Pick(); return err },
		"Lease+Done":    ended(func(l *evenkeel.Lease[string]) { l.Done(nil) }),
		"Lease+DoneAs":  ended(func(l *evenkeel.Lease[string]) { l.DoneAs(evenkeel.OutcomeSuccess, nil) }),
		"Lease+Release": ended(func(l *evenkeel.Lease[string]) { l.Release() }),
		"Do":            func(lb evenkeel.Balancer[string]) error { return evenkeel.Do(ctx, lb, nothing) },
	}
	pools := map[string]func(t *testing.T) *evenkeel.Pool[string]{
		"default":     func(t *testing.T) *evenkeel.Pool[string] { return newPool(t, evenkeel.Config{}, names(40)...) },
		"one backend": func(t *testing.T) *evenkeel.Pool[string] { return newPool(t, evenkeel.Config{}, "A") },
		"MaxInFlight": func(t *testing.T) *evenkeel.Pool[string] {
			return newPool(t, evenkeel.Config{MaxInFlight: 100}, names(40)...)
		},
		"ejection off": func(t *testing.T) *evenkeel.Pool[string] {
			return newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}}, names(40)...)
		},
		"weights": func(t *testing.T) *evenkeel.Pool[string] {
			pool := newPool(t, evenkeel.Config{}, names(40)...)
			require.NoError(t, pool.SetWeight(names(40)[3], 2.5))
			return pool
		},
		"a signal": func(t *testing.T) *evenkeel.Pool[string] {
			pool := newPool(t, evenkeel.Config{}, names(40)...)
			pool.SetLoad(each(func(_ string, inFlight int) float64 { return 2 * float64(inFlight) }))
			return pool
		},
		"some ejected": func(t *testing.T) *evenkeel.Pool[string] {
			pool := newPool(t, evenkeel.Config{}, names(40)...)
			for _, b := range names(40)[:20] {
				require.NoError(t, pool.Eject(b))
			}
			return pool
		},
		"slow start": func(t *testing.T) *evenkeel.Pool[string] {
			pool := newPool(t, evenkeel.Config{}, names(39)...)
			require.NoError(t, pool.Replace(names(40)...))
			return pool
		},
	}
	for setup, make := range pools {
		pool := make(t)
		lbs := everyPolicy(t, pool)
		for _, d := range []int{3, 20} {
			lb, err := p2c.NewWith(pool, p2c.Config{D: d, Seed: 1})
			require.NoError(t, err)
			lbs[fmt.Sprint("p2c, D = ", d)] = lb
		}
		lbs["p2c, unseeded"] = p2c.New(pool)
		for name, lb := range lbs {
			require.NoError(t, ended(func(l *evenkeel.Lease[string]) { l.Release() })(lb)) // round robin makes its round
			for path, run := range paths {
				assert.Zero(t, testing.AllocsPerRun(200, func() { _ = run(lb) }), "%s of %s: %s", path, name, setup)
			}
		}
	}
}
