package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// fakeBackend works on one request at a time, first come, first served. When a
// request is over is worked out on arrival, so that late timers do not add up.
type fakeBackend struct {
	speed float64
	mu    sync.Mutex
	free  time.Time
}

// handle returns when the backend is done with the request, or ctx ends.
func (b *fakeBackend) handle(ctx context.Context, work time.Duration) error {
	b.mu.Lock()
	now := time.Now()
	if b.free.Before(now) {
		b.free = now
	}
	b.free = b.free.Add(time.Duration(float64(work) / b.speed))
	until := b.free
	b.mu.Unlock()
	return sleepUntil(ctx, until)
}

func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// slowRun is what one policy did under one seed, in milliseconds.
type slowRun struct {
	p50, p99, max, share float64
}

// slowBackendRun sends requests at the times of a Poisson stream through a
// balancer to fake backends of which the last is slow.
func slowBackendRun(ctx context.Context, policy sim.Policy, backends, requests int, rate float64, work time.Duration, seed uint64) (slowRun, error) {
	all := make([]int, backends)
	fakes := make([]fakeBackend, backends)
	for i := range all {
		all[i], fakes[i].speed = i, 1
	}
	last := backends - 1
	fakes[last].speed = 0.2
	pool, err := evenkeel.NewPool(evenkeel.Config{Seed: seed}, all...)
	if err != nil {
		return slowRun{}, err
	}
	lb, err := policy(pool, seed)
	if err != nil {
		return slowRun{}, err
	}
	random := sim.NewStream(seed, 1)
	took := make([]float64, requests)
	slow := make([]bool, requests)
	failed := make([]error, requests)
	var calls sync.WaitGroup
	begin, at := time.Now(), 0.0
	for i := range requests {
		at += random.Exp() / rate
		size := time.Duration(random.Exp() * float64(work))
		if err := sleepUntil(ctx, begin.Add(time.Duration(at*float64(time.Second)))); err != nil {
			break
		}
		calls.Go(func() {
			sent := time.Now()
			failed[i] = evenkeel.Do(ctx, lb, func(ctx context.Context, backend int) error {
				slow[i] = backend == last
				return fakes[backend].handle(ctx, size)
			})
			took[i] = float64(time.Since(sent)) / float64(time.Millisecond)
		})
	}
	calls.Wait()
	if ctx.Err() != nil {
		return slowRun{}, context.Cause(ctx)
	}
	r := slowRun{}
	for i := range requests {
		if failed[i] != nil {
			return slowRun{}, failed[i]
		}
		if slow[i] {
			r.share += 1 / float64(requests)
		}
	}
	slices.Sort(took)
	q := func(p float64) float64 { return took[int(p*float64(requests-1))] }
	r.p50, r.p99, r.max = q(0.5), q(0.99), took[requests-1]
	return r, nil
}

// slowSeeds is the number of runs of each policy: all of them sleep side by side,
// so more cost no time.
const slowSeeds = 8

// planSlowBackend starts at once, beside the queue of the simulations: it sleeps
// most of the time.
func planSlowBackend(l *lab) (report, error) {
	pub := l.published.Slowbackend
	results := make([][slowSeeds]slowRun, len(pub.Rows))
	errs := make(chan error, len(pub.Rows)*slowSeeds)
	l.total.Add(int64(cap(errs)))
	for i, p := range pub.Rows {
		policy, err := policyByName(p.Policy)
		if err != nil {
			return nil, err
		}
		for seed := range slowSeeds {
			go func() {
				var err error
				results[i][seed], err = slowBackendRun(l.ctx, policy, pub.Backends, pub.Requests, pub.RatePerS/l.scale,
					time.Duration(pub.MeanWorkMS*l.scale*float64(time.Millisecond)), uint64(seed+1))
				l.done.Add(1)
				errs <- err
			}()
		}
	}
	return func(ctx context.Context) (*table, error) {
		var first error
		for range cap(errs) {
			if err := <-errs; err != nil && first == nil {
				first = err
			}
		}
		if first != nil {
			return nil, first
		}
		t := &table{
			title: fmt.Sprintf("real time: %d requests, %.0f a second, %d backends, the last five times slower, %d runs, in ms",
				pub.Requests, pub.RatePerS, pub.Backends, slowSeeds),
			label: "policy",
		}
		if l.scale != 1 {
			t.title += fmt.Sprintf(" (run at %g of the time, and scaled back)", l.scale)
		}
		for i, p := range pub.Rows {
			figure := func(name string, digits int, published float64, f func(slowRun) float64) measure {
				sum := 0.0
				for _, r := range results[i] {
					sum += f(r) / slowSeeds
				}
				return shown(name, sum, digits).beside(published)
			}
			t.rows = append(t.rows, row{
				label: titleOf(p.Policy), policy: p.Policy,
				inputs: []input{{"backends", pub.Backends}, {"requests", pub.Requests}, {"rate_per_s", pub.RatePerS}, {"mean_work_ms", pub.MeanWorkMS}, {"scale", l.scale}},
				measures: []measure{
					figure("p50", 0, p.P50, func(r slowRun) float64 { return r.p50 / l.scale }),
					figure("p99", 0, p.P99, func(r slowRun) float64 { return r.p99 / l.scale }),
					figure("slowest", 0, p.Max, func(r slowRun) float64 { return r.max / l.scale }),
					figure("sent to the slow one", 1, p.SlowShare, func(r slowRun) float64 { return r.share }).asPercent(),
				},
			})
		}
		value := func(i, m int) float64 { return t.rows[i].measures[m].value }
		ratio := func(i int) float64 { return value(i, 1) / value(2, 1) }
		for i, name := range []string{"random", "round robin"} {
			published := pub.Rows[i].P99 / pub.Rows[2].P99
			t.notes = append(t.notes, fmt.Sprintf("p99 of %s: %.1f times that of 2 choices (published: %.1f times)", name, ratio(i), published))
			t.claims = append(t.claims,
				claim{fmt.Sprintf("the p99 of %s is above that of 2 choices by the published factor of %.1f, give or take the half of it", name, published),
					ratio(i) > published/2 && ratio(i) < published*2},
				claim{fmt.Sprintf("2 choices sends the slow one less than half of what %s does", name), value(2, 3) < value(i, 3)/2})
		}
		f := figure{name: "slowbackend", title: "One slow backend of eight, in real time", x: "policy", y: "p99, in ms"}
		for _, r := range t.rows {
			f.bars = append(f.bars, bar{r.label, r.measures[1].value, r.measures[1].published})
		}
		t.plots = []figure{f}
		t.claims = append(t.claims, claim{"2 choices has the quickest slowest request", value(2, 2) < min(value(0, 2), value(1, 2))})
		return t, nil
	}, nil
}
