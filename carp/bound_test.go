package carp_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

// holdZipf leases n calls whose keys follow a Zipf law with s = 1.1, and, when so many are
// open, ends a random one for each that begins. After each begin it calls look.
func holdZipf(t *testing.T, lb evenkeel.Balancer[string], n, open int, look func(backend string)) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	keys := rand.NewZipf(random, 1.1, 1, 1_000_000)
	held := make([]*evenkeel.Lease[string], 0, open)
	for range n {
		l := lease(t, lb, key(int(keys.Uint64())))
		look(l.Backend())
		if len(held) < open {
			held = append(held, &l)
			continue
		}
		i := random.IntN(open)
		held[i].Release()
		held[i] = &l
	}
	for _, l := range held {
		l.Release()
	}
}

// Under a Zipf law of keys no backend ever holds more than its bound, where plain hashing
// goes far over it.
func TestZipfStaysUnderTheBound(t *testing.T) {
	backends := servers(10)
	for _, factor := range []float64{1, 1.25, 2} {
		pool := newPool(t, plain, backends...)
		lb, err := carp.NewWith(pool, carp.Config{LoadFactor: factor})
		require.NoError(t, err)
		total := func() (n int) {
			for _, b := range backends {
				n += pool.InFlight(b)
			}
			return n
		}
		holdZipf(t, lb, 20_000, 200, func(b string) {
			require.LessOrEqual(t, float64(pool.InFlight(b)), math.Ceil(factor*float64(total())/10))
		})
	}
	pool, peak := newPool(t, plain, backends...), 0
	holdZipf(t, unbounded(t, pool), 20_000, 200, func(b string) { peak = max(peak, pool.InFlight(b)) })
	assert.Greater(t, peak, 2*25, "plain hashing: twice the bound and more")
}

// The bound is rounded up, and counts the call itself: of three calls with one key for two
// backends the first two stay together.
func TestBoundIsNoTighterThanItSays(t *testing.T) {
	pool := newPool(t, plain, "A", "B")
	lb := carp.New(pool)
	at := home(t, lb, "k")
	var got []string
	for range 3 {
		l := lease(t, lb, "k")
		defer l.Release()
		got = append(got, l.Backend())
	}
	assert.Equal(t, []string{at, at, map[string]string{"A": "B", "B": "A"}[at]}, got)
}

// The bound of a backend is by its weight.
func TestBoundIsByWeight(t *testing.T) {
	pool := newPool(t, plain, "A", "B", "C")
	weights := map[string]float64{"A": 1, "B": 2, "C": 5}
	for b, w := range weights {
		require.NoError(t, pool.SetWeight(b, w))
	}
	holdZipf(t, carp.New(pool), 20_000, 80, func(b string) {
		total := pool.InFlight("A") + pool.InFlight("B") + pool.InFlight("C")
		require.LessOrEqual(t, float64(pool.InFlight(b)), math.Ceil(1.25*float64(total)*weights[b]/8+1e-9))
	})
}

// What flows over goes to the key's next choices in their order, and the key comes home when
// there is room.
func TestOverflowGoesToTheNextChoices(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		backends := servers(5)
		pool := newPool(t, plain, backends...)
		if weighted {
			require.NoError(t, pool.SetWeight(backends[0], 1.5))
		}
		lb := carp.New(pool)
		for i := range 50 {
			var order []string
			for range backends {
				order = append(order, home(t, lb, key(i), order...))
			}
			var first []string // the backends, in the order of their first call
			var held []*evenkeel.Lease[string]
			for range 40 {
				l := lease(t, lb, key(i))
				held = append(held, &l)
				if pool.InFlight(l.Backend()) == 1 {
					first = append(first, l.Backend())
				}
			}
			require.GreaterOrEqual(t, len(first), 3) // at 1.25 times its share each they hold all
			assert.Equal(t, order[:len(first)], first)
			for _, l := range held {
				l.Release()
			}
			assert.Equal(t, order[0], home(t, lb, key(i)))
		}
	}
}

// The load is whatever the pool makes of it: a user's signal in other units is bounded too.
func TestBoundGoesByTheSignal(t *testing.T) {
	pool := newPool(t, plain, "A", "B", "C", "D")
	lb := carp.New(pool)
	at := home(t, lb, "k")
	next := home(t, lb, "k", at)
	load := map[string]float64{}
	pool.SetLoad(func(b string) func(int) float64 { return func(int) float64 { return load[b] } })
	for _, b := range []string{"A", "B", "C", "D"} {
		load[b] = 1000
	}
	load[at] = 1300 // the mean is 1075, and the bound 1344
	assert.Equal(t, at, home(t, lb, "k"))
	load[at] = 1400 // 1375
	assert.Equal(t, next, home(t, lb, "k"))
}

// A policy with a factor out of range takes 1.
func TestPolicyTakesBadFactorsForOne(t *testing.T) {
	for _, bad := range []float64{-3, 0.5, math.NaN()} {
		pool := newPool(t, plain, "A", "B")
		lb := evenkeel.NewDispatcher(pool, carp.Policy{LoadFactor: bad})
		for i := range 6 {
			l := lease(t, lb, "k")
			defer l.Release()
			assert.LessOrEqual(t, pool.InFlight(l.Backend()), i/2+1)
		}
	}
}
