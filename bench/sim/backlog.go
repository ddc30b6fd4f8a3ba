package sim

import (
	"cmp"
	"context"
	"runtime"
	"slices"
)

// Where Config.Pool.MaxInFlight is set a Lease may wait, and a waiting Lease is a
// goroutine. The simulator stays deterministic all the same: it goes on only when
// every goroutine it has started either has come back or is known, by the pool's
// own count, to wait; and which waiting request gets a freed place is decided
// inside Done, on the simulator's own goroutine.

// line is the waiting requests of one dispatcher.
type line struct {
	waiting int
	back    chan int32 // numbers of the requests whose Lease has returned
}

// leaseLimited is the Lease of a request that may have to wait.
func (r *run) leaseLimited(i int32, q *request) {
	l := &r.lines[q.pool]
	if l.back == nil {
		l.back = make(chan int32)
	}
	ctx := r.ctx
	q.cancel = nil
	if r.cfg.Patience > 0 {
		ctx, q.cancel = context.WithCancel(ctx)
	}
	lb, back := r.lbs[q.pool], l.back
	go func() {
		q.lease, q.err = lb.Lease(ctx)
		back <- i
	}()
	for {
		select {
		case <-back:
			r.settled(i)
			return
		default:
		}
		if r.pools[q.pool].Backlog().Waiting > l.waiting {
			l.waiting++
			q.waiting = true
			if r.cfg.Patience > 0 {
				r.agenda.add(kindGiveUp, r.now+r.cfg.Patience, i, 0, q.gen)
			}
			return
		}
		runtime.Gosched()
	}
}

// settled goes on with a request whose Lease has returned.
func (r *run) settled(i int32) {
	q := r.at(i)
	q.waiting = false
	if q.cancel != nil {
		q.cancel()
	}
	r.leased(i, q)
}

// handOver waits for the requests that have left the backlog of a dispatcher and
// goes on with them, in the order in which they came.
func (r *run) handOver(d int32) {
	l := &r.lines[d]
	if l.waiting == 0 {
		return
	}
	var out []int32
	for left := r.pools[d].Backlog().Waiting; l.waiting > left; l.waiting-- {
		out = append(out, <-l.back)
	}
	slices.SortFunc(out, func(a, b int32) int { return cmp.Compare(r.at(a).number, r.at(b).number) })
	for _, i := range out {
		r.settled(i)
	}
}

// giveUp ends the patience of a request, if it still waits.
func (r *run) giveUp(i int32, gen uint32) {
	q := r.at(i)
	if q.gen != gen || !q.waiting {
		return
	}
	q.cancel()
	l := &r.lines[q.pool]
	l.waiting--
	r.settled(<-l.back)
}

// dismiss sends home those who still wait when the run is over.
func (r *run) dismiss() {
	r.stop()
	for d := range r.lines {
		for l := &r.lines[d]; l.waiting > 0; l.waiting-- {
			i := <-l.back
			if q := r.at(i); q.err == nil {
				q.lease.Release()
			}
		}
	}
}
