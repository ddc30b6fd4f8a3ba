package sim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// list is work that was written down by hand.
type list struct{ works []float64 }

func (l *list) Draw(*sim.Stream) float64 {
	w := l.works[0]
	l.works = l.works[1:]
	return w
}

func (l *list) Mean() float64 { return 1 }

// arriving is arrivals at times that were written down by hand.
type arriving []float64

func (a arriving) Start(*sim.Stream) func() (float64, bool) {
	i := 0
	return func() (float64, bool) {
		if i == len(a) {
			return 0, false
		}
		i++
		return a[i-1], true
	}
}

// by sends requests to servers as written down by hand, and keeps the loads it
// saw.
type by struct {
	to   []int
	seen [][]float64
}

func (p *by) Choose(v evenkeel.View) (int, evenkeel.Load) {
	var loads []float64
	for i := range v.Len() {
		loads = append(loads, v.Load(i).Value())
	}
	p.seen = append(p.seen, loads)
	i := p.to[0]
	p.to = p.to[1:]
	return i, v.Load(i)
}

func (p *by) policy() sim.Policy {
	return sim.Custom(func() evenkeel.Policy { return p })
}

func run(t *testing.T, cfg sim.Config) *sim.Result {
	t.Helper()
	if cfg.Horizon == 0 && cfg.Requests == 0 {
		cfg.Horizon = 1e6
	}
	if cfg.Pool.MaxInFlight == 0 && !cfg.Pool.Ejection.Off {
		cfg.Pool = sim.Plain()
	}
	r, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	return r
}

func TestScheduleOneServer(t *testing.T) {
	// The tutorial's: the second waits for the first, the third finds it idle.
	p := &by{to: []int{0, 0, 0}}
	r := run(t, sim.Config{Servers: 1, Arrivals: arriving{0.25, 1, 5}, Work: &list{[]float64{2, 1, 1}}, Policy: p.policy()})
	assert.Equal(t, [][]float64{{0}, {1}, {0}}, p.seen)
	assert.EqualValues(t, 3, r.Requests)
	assert.InDelta(t, (2+2.25+1)/3, r.Mean, 1e-9)
	assert.Equal(t, 2.25, r.Max)
	assert.Equal(t, 6.0, r.End)
	assert.Equal(t, 2, r.Peak)
	assert.Equal(t, 0.5, r.Throughput)
}

func TestScheduleDepartureComesBeforeAnArrivalAtTheSameMoment(t *testing.T) {
	p := &by{to: []int{0, 0}}
	run(t, sim.Config{Servers: 1, Arrivals: arriving{1, 3}, Work: &list{[]float64{2, 1}}, Policy: p.policy()})
	assert.Equal(t, [][]float64{{0}, {0}}, p.seen)
}

func TestScheduleTwoWorkers(t *testing.T) {
	p := &by{to: []int{0, 0, 0, 0}}
	r := run(t, sim.Config{Servers: 1, Workers: 2, Arrivals: arriving{1, 1, 1, 2}, Work: &list{[]float64{4, 2, 1, 3}}, Policy: p.policy()})
	// 1-5, 1-3, then on the free worker 3-4, 4-7.
	assert.InDelta(t, (4+2+3+5)/4.0, r.Mean, 1e-9)
	assert.Equal(t, 7.0, r.End)
}

func TestScheduleSpeedChangesInTheMiddle(t *testing.T) {
	p := &by{to: []int{0, 0}}
	r := run(t, sim.Config{
		Servers: 1, Speeds: []float64{1}, Arrivals: arriving{1, 2}, Work: &list{[]float64{4, 1}}, Policy: p.policy(),
		Changes: []sim.Change{{At: 7, Server: 0, Speed: 2}, {At: 3, Server: 0, Speed: 0}, {At: 5, Server: 0, Speed: 0.5}},
	})
	// 2 done by 3, nothing until 5, 1 more by 7, the last 1 by 7.5; then 0.5.
	assert.InDelta(t, (6.5+6)/2, r.Mean, 1e-9)
	assert.Equal(t, 8.0, r.End)
	assert.Zero(t, r.InFlight)
}

func TestScheduleServerThatStandsStillStrands(t *testing.T) {
	p := &by{to: []int{0, 1, 0}}
	r := run(t, sim.Config{Servers: 2, Speeds: []float64{0, 1}, Arrivals: arriving{1, 2, 3}, Work: sim.Constant(1), Policy: p.policy()})
	assert.EqualValues(t, 1, r.Requests)
	assert.EqualValues(t, 2, r.Stranded)
	assert.Equal(t, 2, r.InFlight)
	assert.InDeltaSlice(t, []float64{2.0 / 3, 1.0 / 3}, r.Shares, 1e-12)
}

func TestScheduleNetworkDelay(t *testing.T) {
	p := &by{to: []int{0, 0, 0}}
	r := run(t, sim.Config{Servers: 1, RTT: 2, Arrivals: arriving{1, 4.5, 6}, Work: &list{[]float64{2, 1, 1}}, Policy: p.policy()})
	// Reaches at 2, done at 4, back at 5: still in flight for the second at 4.5,
	// which is at its server from 5.5 to 6.5. The third, 7 to 8, back at 9.
	assert.Equal(t, [][]float64{{0}, {1}, {1}}, p.seen)
	assert.InDelta(t, (4+3+3)/3.0, r.Mean, 1e-9)
	assert.Equal(t, 1, r.Peak)
}

func TestScheduleBoardIsReadAtMultiplesOfRefresh(t *testing.T) {
	p := &by{to: []int{0, 0, 1, 0, 1}}
	run(t, sim.Config{
		Servers: 2, Signal: sim.Board, Refresh: 2, Arrivals: arriving{0.5, 1, 2.5, 3.5, 4.5}, Work: sim.Constant(1.25), Policy: p.policy(),
	})
	// Departures at 1.75, 3, 3.75, 4.75.
	assert.Equal(t, [][]float64{{0, 0}, {0, 0}, {1, 0}, {1, 0}, {1, 0}}, p.seen)
}

func TestScheduleWorkLeft(t *testing.T) {
	p := &by{to: []int{0, 0, 1, 0}}
	run(t, sim.Config{
		Servers: 2, Speeds: []float64{2, 0.5}, Signal: sim.WorkLeft, Arrivals: arriving{1, 1.5, 2, 10},
		Work: &list{[]float64{4, 2, 1, 1}}, Policy: p.policy(),
	})
	assert.Equal(t, [][]float64{{0, 0}, {1.5, 0}, {2, 0}, {0, 0}}, p.seen)
}

func TestScheduleWorkLeftOfOneThatStandsStillIsAsMuchAsCanBe(t *testing.T) {
	p := &by{to: []int{0, 1}}
	run(t, sim.Config{
		Servers: 2, Speeds: []float64{0, 1}, Signal: sim.WorkLeft, Arrivals: arriving{1, 2}, Work: sim.Constant(1), Policy: p.policy(),
	})
	require.Len(t, p.seen, 2)
	assert.Equal(t, []float64{0, 0}, p.seen[0])
	assert.Greater(t, p.seen[1][0], 10_000.0)
	assert.Zero(t, p.seen[1][1])
}

func TestScheduleClosedLoop(t *testing.T) {
	// Two clients, one server: one is served while the other waits.
	r := run(t, sim.Config{Servers: 1, Clients: 2, Requests: 5, Work: sim.Constant(1), Policy: sim.SQF})
	assert.EqualValues(t, 5, r.Requests)
	assert.Equal(t, 5.0, r.End)
	assert.InDelta(t, (1+2+2+2+2)/5.0, r.Mean, 1e-9)
	assert.Equal(t, 1.0, r.Throughput)
	assert.Zero(t, r.InFlight)
}

func TestScheduleWarmupIsNotCounted(t *testing.T) {
	p := &by{to: []int{0, 0, 0}}
	r := run(t, sim.Config{Servers: 1, Warmup: 1, Horizon: 3, Arrivals: arriving{0.5, 2, 3, 4}, Work: sim.Constant(2), Policy: p.policy()})
	// 0.5-2.5, 2.5-4.5, 4.5-6.5; nothing arrives after 3.
	assert.EqualValues(t, 2, r.Requests)
	assert.InDelta(t, 3.0, r.Mean, 1e-9)
}

func TestScheduleFailing(t *testing.T) {
	p := &by{to: []int{0, 1, 0, 1}}
	r := run(t, sim.Config{
		Servers: 2, Failing: []float64{1, 0}, FailWork: 0.5, Arrivals: arriving{1, 1, 1, 1}, Work: sim.Constant(2), Policy: p.policy(),
		Changes: []sim.Change{{At: 0.5, Server: 1, Speed: 2}},
	})
	assert.EqualValues(t, 2, r.Failed)
	assert.EqualValues(t, 2, r.Requests)
	assert.InDelta(t, 1.5, r.Mean, 1e-9)
	assert.Equal(t, 3.0, r.End)
}

func limited(max, backlog int) evenkeel.Config {
	c := sim.Plain()
	c.MaxInFlight, c.Backlog = max, backlog
	return c
}

func TestScheduleBacklog(t *testing.T) {
	// One place on each of two servers; two may wait, the fifth is refused.
	r := run(t, sim.Config{
		Servers: 2, Pool: limited(1, 2), Arrivals: arriving{1, 1, 2, 2.5, 2.75, 9}, Work: &list{[]float64{3, 4, 1, 1, 1, 1}}, Policy: sim.SQF,
	})
	// 1-4, 1-5; the third waits until 4, served 4-5; the fourth until 5, 5-6.
	assert.EqualValues(t, 1, r.Refused)
	assert.EqualValues(t, 5, r.Requests)
	assert.InDelta(t, (3+4+3+3.5+1)/5, r.Mean, 1e-9)
	assert.Equal(t, 1, r.Peak)
	assert.Zero(t, r.InFlight)
}

func TestScheduleBacklogPatience(t *testing.T) {
	r := run(t, sim.Config{
		Servers: 1, Pool: limited(1, 10), Patience: 2, Arrivals: arriving{1, 2, 3, 4.5}, Work: &list{[]float64{4, 1, 1, 1}}, Policy: sim.Choices(2),
	})
	// Served 1-5; the second gives up at 4, the third at 5 (its patience ends as
	// the place is freed, and what ends comes first: it is served), 5-6; 6-7.
	assert.EqualValues(t, 1, r.GaveUp)
	assert.EqualValues(t, 3, r.Requests)
	assert.InDelta(t, (4+3+2.5)/3, r.Mean, 1e-9)
	assert.Zero(t, r.InFlight)
}

func TestScheduleBacklogIsSentHomeWhenTheRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	_, err := sim.Run(ctx, sim.Config{
		Servers: 1, Pool: limited(1, 1000), Horizon: 1e9, Arrivals: sim.Poisson(2), Work: sim.Exponential{}, Policy: sim.SQF,
		Actions: []sim.Action{{At: 50, Do: func([]*evenkeel.Pool[int]) error { cancel(why); return nil }}},
	})
	require.ErrorIs(t, err, why)
}

func TestScheduleActions(t *testing.T) {
	p := &by{to: []int{0, 0}}
	run(t, sim.Config{
		Servers: 2, Arrivals: arriving{1, 3}, Work: sim.Constant(10), Policy: p.policy(),
		Actions: []sim.Action{{At: 2, Do: func(pools []*evenkeel.Pool[int]) error { return pools[0].Eject(0) }}},
	})
	assert.Equal(t, [][]float64{{0, 0}, {0}}, p.seen)

	_, err := sim.Run(t.Context(), sim.Config{
		Servers: 2, Arrivals: arriving{1, 3}, Work: sim.Constant(10), Policy: sim.SQF, Horizon: 5, Pool: sim.Plain(),
		Actions: []sim.Action{{At: 2, Do: func(pools []*evenkeel.Pool[int]) error { return pools[0].Eject(7) }}},
	})
	require.ErrorIs(t, err, evenkeel.ErrUnknownBackend)
}

func TestWeightsKnownSpeeds(t *testing.T) {
	cfg := sim.Config{
		Servers: 2, Speeds: []float64{3, 1}, Weights: []float64{3, 1}, Arrivals: sim.Poisson(2), Work: sim.Exponential{},
		Policy: sim.Random, Pool: sim.Plain(), Horizon: 10000,
	}
	r, err := sim.Run(t.Context(), cfg)
	require.NoError(t, err)
	assert.InDelta(t, 0.75, r.Shares[0], 0.02)
}

func TestScheduleWorkLeftAfterAChangeOfSpeed(t *testing.T) {
	p := &by{to: []int{0, 0, 1}}
	run(t, sim.Config{
		Servers: 2, Signal: sim.WorkLeft, Arrivals: arriving{1, 1.5, 3}, Work: &list{[]float64{4, 2, 1}}, Policy: p.policy(),
		Changes: []sim.Change{{At: 2, Server: 0, Speed: 0.5}},
	})
	// By 2 one unit of six is done; the other five take ten more.
	assert.Equal(t, [][]float64{{0, 0}, {3.5, 0}, {9, 0}}, p.seen)
}

func TestScheduleWorkLeftIsSharedByTheWorkers(t *testing.T) {
	p := &by{to: []int{0, 0, 0, 0}}
	run(t, sim.Config{
		Servers: 1, Workers: 2, Signal: sim.WorkLeft, Arrivals: arriving{1, 1, 2, 9}, Work: &list{[]float64{4, 2, 2, 1}}, Policy: p.policy(),
	})
	assert.Equal(t, [][]float64{{0}, {2}, {2}, {0}}, p.seen)
}
