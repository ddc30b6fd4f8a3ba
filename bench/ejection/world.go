package main

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// world is a pool with its callers and servers, on virtual time. Calls arrive as
// a Poisson process, are given out by p2c and never wait; a call that succeeds
// takes work (exponential) and one that fails failAfter, or, where backends hang,
// as long as its caller's deadline allows.
type world struct {
	pool   *evenkeel.Pool[int]
	lb     *p2c.Balancer[int]
	random *rand.Rand
	now    time.Duration
	gap    float64 // mean time between arrivals, in ns
	fail   []float64
	hang   bool  // failing calls hang until their callers' deadlines pass
	calls  []int // begun, by backend
	onEnd  func(backend int, failed bool)

	open    []call // a pool of its own, so that a lease is never copied
	free    []int
	pending endings
	next    time.Duration // of the next arrival
}

const (
	work      = 20 * time.Millisecond
	failAfter = time.Millisecond
	deadline  = time.Second
)

type call struct {
	lease  evenkeel.Lease[int]
	failed bool
}

// ending is when a call of world.open ends.
type ending struct {
	at   time.Duration
	call int
}

type endings []ending

func (e endings) Len() int           { return len(e) }
func (e endings) Less(i, j int) bool { return e[i].at < e[j].at }
func (e endings) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *endings) Push(x any)        { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

var errCall = errors.New("the server failed")

// epoch is the virtual clock's zero.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newWorld makes n backends that are given perBackend calls a second each. Every
// one of their calls fails with probability noise, until fail is changed.
func newWorld(n int, perBackend, noise float64, seed uint64, cfg evenkeel.Config) (*world, error) {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 1)),
		gap:    float64(time.Second) / (perBackend * float64(n)),
		fail:   make([]float64, n),
		calls:  make([]int, n),
	}
	backends := make([]int, n)
	for i := range backends {
		backends[i], w.fail[i] = i, noise
	}
	cfg.Now = func() time.Time { return epoch.Add(w.now) }
	cfg.Seed = seed | 1
	var err error
	if w.pool, err = evenkeel.NewPool(cfg, backends...); err != nil {
		return nil, err
	}
	if w.lb, err = p2c.NewWith(w.pool, p2c.Config{Seed: seed | 1}); err != nil {
		return nil, err
	}
	w.next = w.interval()
	return w, nil
}

func (w *world) interval() time.Duration { return time.Duration(w.random.ExpFloat64() * w.gap) }

// step makes the next thing happen: an arrival or the end of a call.
func (w *world) step() error {
	if len(w.pending) > 0 && w.pending[0].at <= w.next {
		e := heap.Pop(&w.pending).(ending)
		w.now = e.at
		w.end(e.call)
		return nil
	}
	w.now = w.next
	w.next += w.interval()
	return w.begin()
}

func (w *world) begin() error {
	if len(w.free) == 0 {
		w.open = append(w.open, call{})
		w.free = append(w.free, len(w.open)-1)
		if len(w.open) > 1_000_000 {
			return fmt.Errorf("a million calls are open at once after %v: the servers do not keep up", w.now)
		}
	}
	i := w.free[len(w.free)-1]
	w.free = w.free[:len(w.free)-1]
	c := &w.open[i]
	var err error
	if c.lease, err = w.lb.Lease(context.Background()); err != nil {
		return err
	}
	b := c.lease.Backend()
	w.calls[b]++
	c.failed = w.random.Float64() < w.fail[b]
	takes := failAfter
	switch {
	case !c.failed:
		takes = time.Duration(w.random.ExpFloat64() * float64(work))
	case w.hang:
		takes = deadline
	}
	heap.Push(&w.pending, ending{w.now + takes, i})
	return nil
}

func (w *world) end(i int) {
	c := &w.open[i]
	switch {
	case !c.failed:
		c.lease.Done(nil)
	case w.hang:
		c.lease.DoneAs(evenkeel.OutcomeDeadline, context.DeadlineExceeded)
	default:
		c.lease.Done(errCall)
	}
	if w.onEnd != nil {
		w.onEnd(c.lease.Backend(), c.failed)
	}
	w.free = append(w.free, i)
}

// until lets the world go on up to the given time.
func (w *world) until(at time.Duration) error {
	for w.now < at {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}
