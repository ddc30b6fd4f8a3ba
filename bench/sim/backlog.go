package sim

import (
	"cmp"
	"context"
	"iter"
	"slices"
)

// Where Config.Pool.MaxInFlight is set a Lease may wait. Such a Lease runs as a
// coroutine: a call that goes to sleep asks its context for the Done channel, and
// the context of a simulated request hands the control back to the simulator there.
// The simulator resumes the call when it has been given a place, or is to give up.
// Only one of them runs at a time, so a run stays a function of its Config.

// line is the waiting requests of one dispatcher, oldest first.
type line struct{ waiting []int32 }

// wait is one request's Lease as a coroutine, and its context.
type wait struct {
	context.Context                      // without an end and without values
	resume          func() (asleep bool) // until it sleeps again, or Lease has returned
	sleep           func(struct{}) bool  // hands the control to the simulator
	gaveUp          bool                 // the request does not want to wait any longer
}

// awake is the channel of an alarm that always rings.
var awake = make(chan struct{})

func init() { close(awake) }

// Done implements context.Context. It is called when the Lease goes to sleep, and
// returns when the simulator resumes it.
func (w *wait) Done() <-chan struct{} {
	w.sleep(struct{}{})
	return awake
}

// Err implements context.Context.
func (w *wait) Err() error {
	if w.gaveUp {
		return context.Canceled
	}
	return nil
}

// leaseLimited is the Lease of a request that may have to wait.
func (r *run) leaseLimited(i int32, q *request) {
	w := &wait{Context: context.Background()}
	q.wait = w
	next, _ := iter.Pull(func(sleep func(struct{}) bool) {
		w.sleep = sleep
		q.lease, q.err = r.leaseFor(w, q)
	})
	w.resume = func() bool {
		_, asleep := next()
		return asleep
	}
	waits := w.resume()
	if waits {
		l := &r.lines[q.pool]
		l.waiting = append(l.waiting, i)
		if r.cfg.Patience > 0 {
			r.agenda.add(kindGiveUp, r.now+r.cfg.Patience, i, 0, q.gen)
		}
	}
	// What it saw on its way, such as the end of an ejection, may have been a place
	// for those who came before it.
	r.handOver(q.pool)
	if !waits {
		r.leased(i, q)
	}
}

// handOver goes on with the requests that have left the backlog of a dispatcher, in
// the order in which they came. Those are the oldest, and the newest where the pool
// controls the delay.
func (r *run) handOver(d int32) {
	l := &r.lines[d]
	gone := len(l.waiting) - r.pools[d].Backlog().Waiting
	if gone <= 0 {
		return
	}
	var out []int32
	fromTheEnd := false
	for len(out) < gone {
		at := 0
		if fromTheEnd {
			at = len(l.waiting) - 1
		}
		i := l.waiting[at]
		if asleep := r.at(i).wait.resume(); asleep {
			if fromTheEnd {
				panic("sim: a request has left the middle of the backlog")
			}
			fromTheEnd = true
			continue
		}
		l.waiting = slices.Delete(l.waiting, at, at+1)
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b int32) int { return cmp.Compare(r.at(a).number, r.at(b).number) })
	for _, i := range out {
		r.leased(i, r.at(i))
	}
}

// giveUp ends the patience of a request, if it still waits.
func (r *run) giveUp(i int32, gen uint32) {
	q := r.at(i)
	l := &r.lines[q.pool]
	at := slices.Index(l.waiting, i)
	if q.gen != gen || at < 0 {
		return
	}
	l.waiting = slices.Delete(l.waiting, at, at+1)
	q.wait.gaveUp = true
	q.wait.resume()
	r.leased(i, q)
	r.handOver(q.pool)
}

// dismiss sends home those who still wait when the run is over.
func (r *run) dismiss() {
	for d := range r.lines {
		for _, i := range r.lines[d].waiting {
			q := r.at(i)
			q.wait.gaveUp = true
			q.wait.resume()
			if q.err == nil {
				q.lease.Release()
			}
		}
	}
}
