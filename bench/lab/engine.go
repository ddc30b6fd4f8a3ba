package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// engine does the work of all steps: a queue of small tasks, done in the order in
// which they were handed in by as many workers as there are processors, so that
// rows and seeds go in parallel and the first table is ready first.
type engine struct {
	ctx   context.Context
	seeds int // runs behind each row

	mu    sync.Mutex
	more  sync.Cond
	queue []func()
	memo  map[spec]*runs
	done  atomic.Int64
	total atomic.Int64
}

// newEngine starts the workers, which end when ctx does.
func newEngine(ctx context.Context, workers, seeds int) *engine {
	e := &engine{ctx: ctx, seeds: seeds, memo: map[spec]*runs{}}
	e.more.L = &e.mu
	for range workers {
		go e.work()
	}
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.more.Broadcast()
	})
	return e
}

func (e *engine) work() {
	for {
		e.mu.Lock()
		for len(e.queue) == 0 && e.ctx.Err() == nil {
			e.more.Wait()
		}
		if e.ctx.Err() != nil {
			e.mu.Unlock()
			return
		}
		task := e.queue[0]
		e.queue = e.queue[1:]
		e.mu.Unlock()
		task()
		e.done.Add(1)
	}
}

// batch is a number of tasks that are waited for together.
type batch struct {
	left atomic.Int64
	over chan struct{}
	err  atomic.Pointer[error]
}

// submit hands in n tasks.
func (e *engine) submit(n int, task func(i int) error) *batch {
	b := &batch{over: make(chan struct{})}
	b.left.Store(int64(n))
	e.total.Add(int64(n))
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range n {
		e.queue = append(e.queue, func() {
			if err := task(i); err != nil {
				b.err.CompareAndSwap(nil, &err)
			}
			if b.left.Add(-1) == 0 {
				close(b.over)
			}
		})
	}
	e.more.Broadcast()
	return b
}

// wait returns when all tasks are done, with the first error there was.
func (b *batch) wait(ctx context.Context) error {
	select {
	case <-b.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

// runs is one row of a table in the making: the same simulation under several
// seeds.
type runs struct {
	*batch
	results []*sim.Result
}

// simulate hands in the runs of s, unless another row has asked for the same.
func (e *engine) simulate(s spec, seeds int) (*runs, error) {
	e.mu.Lock()
	known := e.memo[s]
	e.mu.Unlock()
	if known != nil && len(known.results) >= seeds {
		return known, nil
	}
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	r := e.simulateConfig(cfg, seeds)
	e.mu.Lock()
	e.memo[s] = r
	e.mu.Unlock()
	return r, nil
}

// simulateConfig hands in runs of cfg with the seeds 1, 2, 3, ...
func (e *engine) simulateConfig(cfg sim.Config, seeds int) *runs {
	r := &runs{results: make([]*sim.Result, seeds)}
	r.batch = e.submit(seeds, func(i int) error {
		c := cfg
		c.Seed = uint64(i + 1)
		res, err := sim.Run(e.ctx, c)
		if err != nil {
			return err
		}
		if res.Requests == 0 {
			return fmt.Errorf("not one request was finished after the warm-up")
		}
		r.results[i] = res
		return nil
	})
	return r
}

// sample is one figure under each seed.
type sample []float64

func (r *runs) sample(f func(*sim.Result) float64) sample {
	s := make(sample, len(r.results))
	for i, res := range r.results {
		s[i] = f(res)
	}
	return s
}

func mean(r *sim.Result) float64   { return r.Mean }
func p50(r *sim.Result) float64    { return r.P50 }
func p99(r *sim.Result) float64    { return r.P99 }
func p999(r *sim.Result) float64   { return r.P999 }
func peak(r *sim.Result) float64   { return float64(r.Peak) }
func share0(r *sim.Result) float64 { return r.Shares[0] }

func (s sample) mean() float64 {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	return sum / float64(len(s))
}

// sd is the standard deviation of one run, estimated from all.
func (s sample) sd() float64 {
	if len(s) < 2 {
		return 0
	}
	m, sum := s.mean(), 0.0
	for _, v := range s {
		sum += float64((v - m) * (v - m))
	}
	return math.Sqrt(sum / float64(len(s)-1))
}

// firstMax is the largest of the first n: what a run of that size shows.
func (s sample) firstMax(n int) float64 {
	most := s[0]
	for _, v := range s[:min(n, len(s))] {
		most = max(most, v)
	}
	return most
}

func workers() int { return runtime.GOMAXPROCS(0) }
