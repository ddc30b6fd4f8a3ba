package carp_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
	"github.com/evenkeel-go/evenkeel/lbtest"
)

func TestConformanceWithoutKey(t *testing.T) { lbtest.Run(t, carp.New[string]) }

// hot is a balancer all of whose calls have one key.
type hot struct{ *carp.Balancer[string] }

func (b hot) Lease(ctx context.Context) (evenkeel.Lease[string], error) {
	return b.LeaseFor(ctx, evenkeel.Call[string]{})
}

func (b hot) LeaseFor(ctx context.Context, call evenkeel.Call[string]) (evenkeel.Lease[string], error) {
	call.Key = "the same"
	return b.Balancer.LeaseFor(ctx, call)
}

func TestConformanceWithKey(t *testing.T) {
	lbtest.Run(t, func(pool *evenkeel.Pool[string]) hot { return hot{carp.New(pool)} })
}

func TestConformanceOfPlainHashing(t *testing.T) {
	lbtest.Run(t, func(pool *evenkeel.Pool[string]) hot { return hot{unbounded(t, pool)} })
}

func TestConformanceOfThePolicyByItself(t *testing.T) {
	lbtest.Run(t, func(pool *evenkeel.Pool[string]) *evenkeel.Dispatcher[string] {
		return evenkeel.NewDispatcher(pool, carp.Policy{})
	})
}

// The key of the context is that of Lease, Do, and a Call without one; a Call's own key
// comes first.
func TestKeyComesByContextOrCall(t *testing.T) {
	lb := carp.New(newPool(t, plain, servers(50)...))
	for i := range 100 {
		want, other := home(t, lb, key(i)), home(t, lb, key(i+1000))
		ctx := carp.WithKey(context.Background(), key(i))

		l, err := lb.Lease(ctx)
		require.NoError(t, err)
		assert.Equal(t, want, l.Backend())
		l.Release()

		l, err = lb.LeaseFor(ctx, evenkeel.Call[string]{})
		require.NoError(t, err)
		assert.Equal(t, want, l.Backend())
		l.Release()

		l, err = lb.LeaseFor(ctx, evenkeel.Call[string]{Key: key(i + 1000)})
		require.NoError(t, err)
		assert.Equal(t, other, l.Backend())
		l.Release()

		require.NoError(t, evenkeel.Do(ctx, lb, func(_ context.Context, backend string) error {
			assert.Equal(t, want, backend)
			return nil
		}))
	}
	assert.Zero(t, lb.WithoutKey())
}

// Calls without a key are counted, and so are those whose key was taken away.
func TestCallsWithoutKeyAreCounted(t *testing.T) {
	lb := carp.New(newPool(t, plain, servers(3)...))
	keyed := carp.WithKey(context.Background(), "k")
	for _, ctx := range []context.Context{context.Background(), carp.WithKey(keyed, "")} {
		l, err := lb.Lease(ctx)
		require.NoError(t, err)
		l.Release()
		l, err = lb.LeaseFor(ctx, evenkeel.Call[string]{})
		require.NoError(t, err)
		l.Release()
	}
	_, err := lb.Pick()
	require.NoError(t, err)
	home(t, lb, "k")
	assert.Equal(t, uint64(5), lb.WithoutKey())
}

// Without a key the less loaded of two is taken: of two backends always the idle one.
func TestWithoutKeyTwoChoices(t *testing.T) {
	pool := newPool(t, plain, "A", "B")
	lb := carp.New(pool)
	for range 50 {
		busy, err := lb.Lease(context.Background())
		require.NoError(t, err)
		idle, err := lb.Lease(context.Background())
		require.NoError(t, err)
		assert.NotEqual(t, busy.Backend(), idle.Backend())
		busy.Release()
		idle.Release()
	}
}

// inTurn takes one backend after the other, by a counter that it prepares.
type inTurn struct{}

func (inTurn) Prepare(evenkeel.View, any) any { return new(atomic.Int64) }

func (inTurn) Choose(v evenkeel.View) (int, evenkeel.Load) {
	next := v.Prepared().(*atomic.Int64).Add(1)
	return int(next) % v.Len(), evenkeel.Load{}
}

// The fallback policy is one with all its rights: what it prepares is its own.
func TestFallbackPolicy(t *testing.T) {
	backends := servers(4)
	lb, err := carp.NewWith(newPool(t, plain, backends...), carp.Config{Fallback: inTurn{}})
	require.NoError(t, err)
	var got []string
	for range 40 {
		b, err := lb.Pick()
		require.NoError(t, err)
		got = append(got, b)
		home(t, lb, "k") // a keyed call takes nobody's turn
	}
	assert.Equal(t, []int{10, 10, 10, 10}, tally(got, backends))
	assert.Equal(t, got[:4], got[4:8])
}

func TestBadLoadFactorIsRefused(t *testing.T) {
	pool := newPool(t, plain, "A")
	for _, bad := range []float64{0.99, -1, math.NaN(), math.Inf(-1)} {
		_, err := carp.NewWith(pool, carp.Config{LoadFactor: bad})
		require.ErrorIs(t, err, evenkeel.ErrBadConfig)
		assert.ErrorContains(t, err, "LoadFactor")
	}
	for _, good := range []float64{0, 1, 1.25, math.Inf(1)} {
		lb, err := carp.NewWith(pool, carp.Config{LoadFactor: good})
		require.NoError(t, err)
		assert.Same(t, pool, lb.Pool())
	}
}

func TestZeroAndNilRefuse(t *testing.T) {
	for name, lb := range map[string]*carp.Balancer[string]{
		"nil": nil, "zero": {}, "nil pool": carp.New[string](nil),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lb.Pick()
			assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
			for _, k := range []string{"", "k"} {
				_, err = lb.Lease(carp.WithKey(context.Background(), k))
				assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
				_, err = lb.LeaseFor(context.Background(), evenkeel.Call[string]{Key: k})
				assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
			}
			assert.Nil(t, lb.Pool())
		})
	}
	assert.Zero(t, (*carp.Balancer[string])(nil).WithoutKey())
}

func TestNoAllocation(t *testing.T) {
	ctx := carp.WithKey(context.Background(), "/a/key/of/usual?length=1")
	for _, weighted := range []bool{false, true} {
		pool := newPool(t, plain, servers(100)...)
		if weighted {
			require.NoError(t, pool.SetWeight(servers(1)[0], 2))
		}
		lb := carp.New(pool)
		held := lease(t, lb, "/a/key/of/usual?length=1") // so that the load of all is added up
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			l, err := lb.Lease(ctx)
			require.NoError(t, err)
			l.Release()
		}))
		held.Release()
	}
}
