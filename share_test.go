package evenkeel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// Weight divided by Share is in proportion to the weights as set, also where slow start
// makes weights equal that are not, and for a part of a membership.
func TestShareTellsTheWeightsAsSet(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Floor: 0.5}}, "A", "B", "C")
	c.Advance(time.Minute)
	require.NoError(t, pool.ReplaceMembers(
		evenkeel.Member[string]{Backend: "A", Weight: 1},
		evenkeel.Member[string]{Backend: "B", Weight: 1},
		evenkeel.Member[string]{Backend: "C", Weight: 1},
		evenkeel.Member[string]{Backend: "D", Weight: 2}))
	for _, avoid := range [][]string{nil, {"A"}} {
		shares, set := map[any]float64{}, map[any]float64{}
		lb := evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
			assert.False(t, v.Weighted())
			for i := range v.Len() {
				shares[v.Backend(i)], set[v.Backend(i)] = v.Share(i), v.Weight(i)/v.Share(i)
			}
			return 0
		}))
		lease, err := lb.LeaseFor(context.Background(), evenkeel.Call[string]{Avoid: avoid})
		require.NoError(t, err)
		lease.Release()
		wantShares := map[any]float64{"A": 1, "B": 1, "C": 1, "D": 0.5}
		wantSet := map[any]float64{"A": 1, "B": 1, "C": 1, "D": 2}
		for _, b := range avoid {
			delete(wantShares, b)
			delete(wantSet, b)
		}
		assert.Equal(t, wantShares, shares)
		assert.Equal(t, wantSet, set)
	}
}

// Total is the sum over all that are in rotation, of plain counts, by weight, and of a
// signal.
func TestTotal(t *testing.T) {
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	for _, b := range []string{"A", "A", "A", "B"} {
		lease := hold(t, pool, b)
		defer lease.Release()
	}
	var eject string
	total := func() (load, weight float64) {
		lb := evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
			if eject != "" { // in the middle of a pick: the membership is still the old one
				require.NoError(t, pool.Eject(eject))
				eject = ""
			}
			load, weight = v.Total()
			return 0
		}))
		_, err := lb.Pick()
		require.NoError(t, err)
		return load, weight
	}
	check := func(wantLoad, wantWeight float64) {
		t.Helper()
		load, weight := total()
		assert.InDelta(t, wantLoad, load, 1e-9)
		assert.InDelta(t, wantWeight, weight, 1e-9)
	}
	check(4, 3)
	require.NoError(t, pool.SetWeight("A", 6))
	check(4, 8)
	eject = "B"
	check(3, 7)
	require.NoError(t, pool.Restore("B"))
	require.NoError(t, pool.SetWeight("A", 1))
	pool.SetLoad(func(string) func(int) float64 { return func(n int) float64 { return 10 * float64(n) } })
	check(40, 3)
	eject = "A" // is looked at again for the pick, so the last look counts
	check(10, 2)
}
