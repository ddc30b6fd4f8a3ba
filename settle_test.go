package evenkeel_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// manyBackends are more than a pool publishes every change of at once.
func manyBackends() []string {
	list := make([]string, 150)
	for i := range list {
		list[i] = "b" + strconv.Itoa(i)
	}
	return list
}

// In a large pool a weight that has changed is used after as many picks as there are
// members at the latest, and whoever is taken out is not picked from that moment on.
func TestChangesOfALargePool(t *testing.T) {
	all := manyBackends()
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, all...)
	var weight float64
	lb := evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
		weight = v.Weight(v.Len() - 1)
		return v.Draw()
	}))
	require.NoError(t, pool.SetWeight(all[len(all)-1], 3))
	for range all {
		_, err := lb.Pick()
		require.NoError(t, err)
	}
	_, err := lb.Pick()
	require.NoError(t, err)
	assert.InDelta(t, 3, weight, 0)

	out := all[:2] // too few to be published at once
	for _, b := range out {
		require.NoError(t, pool.Eject(b))
	}
	for range 10 * len(all) {
		b, err := lb.Pick()
		require.NoError(t, err)
		assert.NotContains(t, out, b)
	}
	for _, b := range out {
		require.NoError(t, pool.Restore(b))
	}
	back := map[string]bool{}
	for range 20 * len(all) {
		b, err := lb.Pick()
		require.NoError(t, err)
		back[b] = true
	}
	assert.Len(t, back, len(all))
}

// stubborn takes the first backend, by its load or without a look.
type stubborn struct{ looks bool }

func (p stubborn) Choose(v evenkeel.View) (int, evenkeel.Load) {
	if p.looks {
		return 0, v.Load(0)
	}
	return 0, evenkeel.Load{}
}

// A policy that would have to choose again and again among those that were taken out is
// given the pool as it is.
func TestStubbornPolicyOfALargePool(t *testing.T) {
	all := manyBackends()
	for name, lease := range map[string]func(lb evenkeel.Balancer[string]) (string, error){
		"Pick": func(lb evenkeel.Balancer[string]) (string, error) { return lb.Pick() },
		"Lease": func(lb evenkeel.Balancer[string]) (string, error) {
			lease, err := lb.Lease(t.Context())
			lease.Release()
			return lease.Backend(), err
		},
	} {
		for _, looks := range []bool{false, true} {
			pool := newPool(t, evenkeel.Config{}, all...)
			require.NoError(t, pool.Eject(all[0]))
			b, err := lease(evenkeel.NewDispatcher(pool, stubborn{looks}))
			require.NoError(t, err, name)
			assert.Equal(t, all[1], b, name)
		}
	}
}

// A step of slow start whose time has passed without enough calls is taken when they have
// ended, though nobody looks at the pool.
func TestSlowStartGoesOnByItself(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, SlowStart: evenkeel.SlowStart{Successes: 100}}, "A", "B", "C")
	c.Advance(time.Minute)
	require.NoError(t, pool.Replace("A", "B", "C", "D"))
	weight := 0.0
	lb := evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
		weight = v.Weight(3)
		return 3 // D
	}))
	callD := func(n int) {
		for range n {
			require.Equal(t, "D", call(t, lb, ok))
		}
	}
	callD(5)
	floor := weight
	c.Advance(time.Second)
	callD(1) // too few: no step
	c.Advance(time.Second)
	callD(4)
	assert.InDelta(t, floor, weight, 1e-9)
	c.Advance(time.Second)
	callD(2)
	assert.Greater(t, weight, floor)
}

// What is due by time is done in its order, whichever was set first.
func TestAlarmsRingInOrder(t *testing.T) {
	c := newClock()
	pool := newPool(t, evenkeel.Config{Now: c.Now, Ejection: exact(evenkeel.Ejection{}), SlowStart: evenkeel.SlowStart{Off: true}}, names(8)...)
	out := names(8)[:3]
	for _, b := range out {
		failOn(t, pool, b, 5)
		c.Advance(time.Second)
	}
	c.Advance(2 * time.Second) // 5 s after the first, 4 s after the second
	for i := range out {
		for k, b := range out {
			want := evenkeel.StateEjectedByOutcome
			if k <= i {
				want = evenkeel.StateOnTrial
			}
			assert.Equal(t, want, stats(pool, b).State, "%s after %d s", b, 5+i)
		}
		c.Advance(time.Second)
	}
}
