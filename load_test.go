package evenkeel_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// look is a policy that keeps what it saw of every backend.
type look struct{ saw []float64 }

func (p *look) Choose(v evenkeel.View) (int, evenkeel.Load) {
	p.saw = nil
	for i := range v.Len() {
		p.saw = append(p.saw, v.Load(i).Value())
	}
	return 0, evenkeel.Load{}
}

// loads are the loads that a policy sees.
func loads(t testing.TB, pool *evenkeel.Pool[string]) []float64 {
	t.Helper()
	p := &look{}
	d := evenkeel.NewDispatcher(pool, p)
	_, err := d.Pick()
	require.NoError(t, err)
	return p.saw
}

// The load is the calls in flight, divided by the weight.
func TestLoadIsInFlightByWeight(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	for _, b := range []string{"A", "A", "A", "B", "C", "C"} {
		lease := hold(t, pool, b)
		defer lease.Release()
	}
	assert.Equal(t, []float64{3, 1, 2}, loads(t, pool))
	require.NoError(t, pool.SetWeight("A", 6))
	require.NoError(t, pool.SetWeight("C", 0.5))
	assert.Equal(t, []float64{0.5, 1, 4}, loads(t, pool))
	require.NoError(t, pool.Eject("B"))
	assert.Equal(t, []float64{0.5, 4}, loads(t, pool), "who is out is not seen")
}

// viewer is a policy that hands its View to a function.
type viewer func(v evenkeel.View) int

func (f viewer) Choose(v evenkeel.View) (int, evenkeel.Load) { return f(v), evenkeel.Load{} }

// A View shows who may be taken, with numbers that stay theirs.
func TestView(t *testing.T) {
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	type seen struct {
		ids      []uint64
		weights  []float64
		weighted bool
	}
	view := func(avoid ...string) (s seen) {
		d := evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
			s = seen{weighted: v.Weighted()}
			for i := range v.Len() {
				s.ids = append(s.ids, v.ID(i))
				s.weights = append(s.weights, v.Weight(i))
			}
			return 0
		}))
		lease, err := d.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: avoid})
		require.NoError(t, err)
		lease.Release()
		return s
	}
	first := view()
	a, b, c := first.ids[0], first.ids[1], first.ids[2]
	assert.Equal(t, []float64{1, 1, 1}, first.weights)
	assert.False(t, first.weighted)
	assert.Equal(t, first, view(), "nothing has changed")

	retry := view("B")
	assert.Equal(t, []uint64{a, c}, retry.ids)
	assert.Equal(t, first, view("X"), "to avoid a stranger leaves out nobody")

	require.NoError(t, pool.SetWeight("C", 2.5))
	weighted := view()
	assert.Equal(t, []uint64{a, b, c}, weighted.ids)
	assert.Equal(t, []float64{1, 1, 2.5}, weighted.weights)
	assert.True(t, weighted.weighted)
	assert.Equal(t, []float64{1, 2.5}, view("A").weights)

	require.NoError(t, pool.Eject("A"))
	assert.Equal(t, []uint64{b, c}, view().ids)
	require.NoError(t, pool.Replace("C", "A"))
	require.NoError(t, pool.Restore("A"))
	require.NoError(t, pool.Replace("C", "B", "A"))
	last := view()
	assert.Equal(t, []uint64{c, a}, []uint64{last.ids[0], last.ids[2]}, "A and C never left")
	assert.NotContains(t, []uint64{a, b, c}, last.ids[1], "B left with nothing open: a new one")

	other := newPool(t, evenkeel.Config{}, "A")
	pool = other
	assert.NotContains(t, append(last.ids, a, b), view().ids[0], "another pool's have other numbers")
}

// Least and Lesser say what Load and Less do, whatever loads are made of.
func TestLeastAndLesser(t *testing.T) {
	for name, setup := range map[string]func(pool *evenkeel.Pool[string]) error{
		"counts":  func(*evenkeel.Pool[string]) error { return nil },
		"weights": func(pool *evenkeel.Pool[string]) error { return pool.SetWeight(names(5)[1], 3) },
		"a signal": func(pool *evenkeel.Pool[string]) error {
			pool.SetLoad(each(func(b string, n int) float64 { return float64(len(b) * (n + 1)) }))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, evenkeel.Config{}, names(5)...)
			require.NoError(t, setup(pool))
			for i, b := range names(5) {
				for range []int{3, 4, 1, 2, 9}[i] {
					lease := hold(t, pool, b)
					defer lease.Release()
				}
			}
			d := evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
				least := 0
				for i := range v.Len() {
					if v.Load(i).Less(v.Load(least)) {
						least = i
					}
					for j := range v.Len() {
						at, l := v.Lesser(i, j)
						want := i
						if v.Load(j).Less(v.Load(i)) {
							want = j
						}
						assert.Equal(t, want, at)
						assert.True(t, l.Equal(v.Load(want)))
					}
				}
				for range 20 {
					at, l := v.Least()
					assert.Equal(t, least, at)
					assert.True(t, l.Equal(v.Load(least)))
					assert.False(t, l.Idle())
				}
				return least
			}))
			_, err := d.Pick()
			require.NoError(t, err)
		})
	}
}

// A signal of the caller's own takes the place of the count, and nil gives it back.
func TestSetLoad(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now}, "A", "B")
	c.Advance(time.Minute)
	lease := hold(t, pool, "A")
	type call struct {
		backend  string
		inFlight int
	}
	var calls []call
	pool.SetLoad(each(func(b string, inFlight int) float64 {
		calls = append(calls, call{b, inFlight})
		return 7.5 * float64(len(b)+inFlight)
	}))
	assert.Equal(t, []float64{15, 7.5}, loads(t, pool))
	assert.Equal(t, []call{{"A", 1}, {"B", 0}}, calls)
	require.NoError(t, pool.SetWeight("A", 3))
	assert.Equal(t, []float64{5, 7.5}, loads(t, pool))
	require.NoError(t, pool.Replace("B", "A", "C"))
	assert.Equal(t, []float64{7.5, 5, 75}, loads(t, pool), "for newcomers too: a tenth of the weight")
	pool.SetLoad(nil)
	require.NoError(t, pool.SetWeight("A", 1))
	assert.Equal(t, []float64{0, 1, 0}, loads(t, pool))
	lease.Release()
	lbtest.RequireIdle(t, pool)
}

// F044 and the like: whatever a signal returns, loads are within bounds, a broken
// one draws no traffic, and it shows.
func TestSetLoadBounds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		signal, load float64
		bad          bool
	}{
		{0, 0, false}, {math.Copysign(0, -1), 0, false}, {1e-300, 1e-300, false}, {2.5, 2.5, false},
		{1e18, 1e18, false}, {1e300, 1e18, false}, {inf, 1e18, false},
		{-1, 1e18, true}, {-1e-300, 1e18, true}, {-inf, 1e18, true}, {nan, 1e18, true},
	} {
		t.Run(fmt.Sprint(c.signal), func(t *testing.T) {
			pool := newPool(t, evenkeel.Config{}, "odd", "even")
			pool.SetLoad(each(func(b string, _ int) float64 {
				if b == "odd" {
					return c.signal
				}
				return 3
			}))
			assert.Equal(t, []float64{c.load, 3}, loads(t, pool))
			bad := uint64(0)
			if c.bad {
				bad = 1
			}
			assert.Equal(t, bad, stats(pool, "odd").BadSignals)
			assert.Zero(t, stats(pool, "even").BadSignals)
			want := "even"
			if c.load < 3 {
				want = "odd"
			}
			for name, lb := range comparing(t, pool, 1) {
				for range 50 {
					assert.Equal(t, want, call(t, lb, ok), name)
				}
			}
			// Weights of any size keep it within bounds as well.
			for _, w := range []float64{1e-300, 1e300} {
				require.NoError(t, pool.SetWeight("odd", w))
				for _, l := range loads(t, pool) {
					assert.True(t, l >= 0 && l <= 1e18, "%v", l)
				}
			}
			lbtest.RequireIdle(t, pool)
		})
	}
}

// A signal may be changed while calls go on.
func TestSetLoadWhilePicking(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, names(5)...)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, lb := range everyPolicy(t, pool) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					lease, err := lb.Lease(context.Background())
					assert.NoError(t, err)
					lease.Done(nil)
				}
			}
		})
	}
	for i := range 200 {
		pool.SetLoad(each(func(_ string, n int) float64 { return float64(n + i) }))
		pool.SetLoad(nil)
	}
	close(stop)
	all.Wait()
	lbtest.RequireIdle(t, pool)
}

// shares makes sequential calls and counts them by place in the pool.
func shares(t testing.TB, pool *evenkeel.Pool[string], lb evenkeel.Balancer[string], n int) []int {
	t.Helper()
	got := map[string]int{}
	for range n {
		got[call(t, lb, ok)]++
	}
	var list []int
	for _, b := range members(pool) {
		list = append(list, got[b])
	}
	return list
}

// F016, F022: sequential calls to idle backends are shared evenly by every policy,
// whether they have been used before or not.
func TestF016F022IdleOnesShareEvenly(t *testing.T) {
	for _, n := range []int{4, 8} {
		pool := newPool(t, evenkeel.Config{}, names(n)...)
		for _, b := range names(n)[3:] { // three have never been used
			lease := hold(t, pool, b)
			lease.Done(nil)
		}
		for name, lb := range everyPolicy(t, pool) {
			got := shares(t, pool, lb, 1000*n)
			for _, c := range got {
				assert.InDelta(t, 1000, c, 100, "%s: %v", name, got)
			}
			assert.NoError(t, chisq.Test(got), name)
		}
	}
}

// F016: of four with one busy, the three that tie share evenly where loads count.
func TestF016ThreeTied(t *testing.T) {
	for busy := range 4 {
		pool := newPool(t, evenkeel.Config{}, names(4)...)
		lease := hold(t, pool, names(4)[busy])
		weights := []float64{1, 1, 1, 1}
		weights[busy] = 0
		for name, lb := range comparing(t, pool, 2) {
			assert.NoError(t, chisq.Test(shares(t, pool, lb, 3000), weights...), "%s, %d busy", name, busy)
		}
		lease.Release()
	}
}

// F017: the neighbour of one that is out gets no more than the others.
func TestF017NeighbourOfAnEjectedOne(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, names(4)...)
	require.NoError(t, pool.Eject(names(4)[1]))
	for name, lb := range everyPolicy(t, pool) {
		got := shares(t, pool, lb, 3000)
		assert.NoError(t, chisq.Test(got, 1, 0, 1, 1), name)
		for _, i := range []int{0, 2, 3} {
			assert.InDelta(t, 1000, got[i], 120, "%s: %v", name, got)
		}
	}
}

// F021: weights act on idle backends too.
func TestF021WeightsOfIdleOnes(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	for b, w := range map[string]float64{"A": 3, "B": 2, "C": 1} {
		require.NoError(t, pool.SetWeight(b, w))
	}
	for name, lb := range everyPolicy(t, pool) {
		got := shares(t, pool, lb, 6000)
		assert.NoError(t, chisq.Test(got, 3, 2, 1), name)
		for i, want := range []float64{3000, 2000, 1000} {
			assert.InEpsilon(t, want, got[i], 0.08, "%s: %v", name, got)
		}
		got = shares(t, pool, lb, 54_000) // 60,000 with those above: the 5 % of the case, without luck
		for i, want := range []float64{27_000, 18_000, 9000} {
			assert.InEpsilon(t, want, got[i], 0.05, "%s: %v", name, got)
		}
	}
}

// F027 has no case here: no policy chooses a subset. F031 neither: nothing decays.

// F034: many balancers that go by figures of their own do not move to one backend
// at once: of bursts of 20 calls, one from each, no backend gets nearly all.
func TestF034NoHerd(t *testing.T) {
	for _, name := range []string{"p2c", "sqf"} {
		var lbs []evenkeel.Balancer[string]
		for i := range 20 {
			pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
			lbs = append(lbs, comparing(t, pool, uint64(i+1))[name])
		}
		sum, bursts := 0.0, 500
		for range bursts {
			burst := map[string]int{}
			for _, lb := range lbs {
				burst[call(t, lb, ok)]++
			}
			largest := max(burst["A"], burst["B"], burst["C"])
			assert.Less(t, largest, 20, "%s: a whole burst on one", name)
			sum += float64(largest) / 20
		}
		assert.Less(t, sum/float64(bursts), 0.55, name)
	}
}

// F174: weight 0 is no share at all, with every policy; open leases finish.
func TestF174WeightZero(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	lease := hold(t, pool, "A")
	require.NoError(t, pool.SetWeight("A", 0))
	assert.Equal(t, evenkeel.StateDrained, stats(pool, "A").State)
	assert.Equal(t, 1, stats(pool, "A").InFlight)
	for name, lb := range everyPolicy(t, pool) {
		got := shares(t, pool, lb, 1000)
		assert.NoError(t, chisq.Test(got, 0, 1, 1), name)
		if name == "roundrobin" {
			assert.Equal(t, []int{0, 500, 500}, got)
		}
	}
	lease.Done(nil)
	lbtest.RequireIdle(t, pool)
	require.NoError(t, pool.SetWeight("A", 1))
	assert.Equal(t, evenkeel.StateActive, stats(pool, "A").State)
}

// F176: weight 0 everywhere is an error that says so.
func TestF176WeightZeroEverywhere(t *testing.T) {
	pool := newPool(t, evenkeel.Config{})
	require.NoError(t, pool.ReplaceMembers(evenkeel.Member[string]{Backend: "A"}, evenkeel.Member[string]{Backend: "B"}))
	for name, lb := range everyPolicy(t, pool) {
		_, err := lb.Lease(t.Context())
		require.ErrorIs(t, err, evenkeel.ErrNoBackends, name)
		assert.ErrorContains(t, err, "of 2 members, 2 drained (weight 0", name)
		_, err = lb.Pick()
		assert.ErrorIs(t, err, evenkeel.ErrNoBackends, name)
	}
}

// F177: weights of extreme ratios cost no more than others, and the light ones get
// no less than their share.
func TestF177ExtremeWeights(t *testing.T) {
	for _, c := range []struct{ light, heavy float64 }{
		{1e-9, 1}, {1, 1e9}, {math.SmallestNonzeroFloat64, math.MaxFloat64}, {1e-300, 2e-300}, {5e-324, 1e-323}, {1e200, 2e200},
	} {
		for _, n := range []int{2, 1000} {
			list := make([]evenkeel.Member[string], n)
			for i, b := range names(n) {
				list[i] = evenkeel.Member[string]{Backend: b, Weight: c.heavy}
			}
			list[n/2].Weight = c.light
			pool := newPool(t, evenkeel.Config{})
			require.NoError(t, pool.ReplaceMembers(list...))
			for name, lb := range everyPolicy(t, pool) {
				got := shares(t, pool, lb, 4*n)
				assert.Len(t, got, n, name)
				if c.heavy == 2*c.light && n == 2 {
					got = shares(t, pool, lb, 6000)
					assert.NoError(t, chisq.Test(got, 2, 1), "%s: %v of %v", name, got, c)
				}
			}
			// Full, each is as loaded as its weight says.
			lb := must(sqf.NewWith(pool, sqf.Config{Seed: 1}))
			leases := make([]evenkeel.Lease[string], min(30*n, 1200))
			for i := range leases {
				var err error
				leases[i], err = lb.Lease(t.Context())
				require.NoError(t, err)
			}
			full := c.light / c.heavy / (c.light/c.heavy + float64(n-1)) * float64(len(leases))
			assert.InDelta(t, full, pool.InFlight(names(n)[n/2]), 1, "%+v", c)
			for i := range leases {
				leases[i].Release()
			}
			lbtest.RequireIdle(t, pool)
		}
	}
}
