package lbhttp

import (
	"net/http"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// race is a first attempt and the hedge that may run beside it. The first runs on
// the goroutine of RoundTrip, the hedge on that of the timer. Whichever brings a good
// response first has won, and ends the other. RoundTrip waits until both have
// returned, so that the request is not looked at by a loser later.
type race struct {
	t     *Transport
	first *attempt
	key   string

	mu     sync.Mutex
	closed bool     // no hedge may start any more
	won    *attempt // nil: nobody yet
	second *attempt // the hedge; nil: there is none

	done chan struct{} // closed when the hedge has returned, with
	resp *http.Response
	err  error
}

// mayHedge reports whether a request may be sent twice at once.
func (t *Transport) mayHedge(req *http.Request) bool {
	return t.cfg.Hedge.On && idempotent(req) && (!hasBody(req) || req.GetBody != nil)
}

// hedged sends the first attempt, and a hedge beside it if the first is slow. It
// returns the attempt to go on with, and the one that has ended beside it, if that one
// failed by its own fault.
func (t *Transport) hedged(first *attempt, key string) (kept entry, failed *entry) {
	t.hedges.Count()
	begun := time.Since(t.made)
	r := &race{t: t, first: first, key: key, done: make(chan struct{})}
	first.own = newOwnContext(first.caller.Context())
	if after := t.hedgeAfter(begun); after > 0 {
		defer time.AfterFunc(after, r.start).Stop()
	}
	resp, err := first.send(first.caller.Body)
	t.delays.add(begun, time.Since(t.made)-begun)
	return r.finish(entry{first, resp, err})
}

// hedgeAfter is how long a first attempt may take without a hedge; 0: as long as it
// likes.
func (t *Transport) hedgeAfter(now time.Duration) time.Duration {
	if after := t.cfg.Hedge.After; after > 0 {
		return after
	}
	return t.delays.p95(now)
}

// start makes the hedge, if there is a backend that is free, and budget.
func (r *race) start() {
	t, req := r.t, r.first.caller
	if !t.hedges.Spend(time.Now()) {
		t.figures.hedgesOverBudget.Add(1)
		return
	}
	a := r.enter()
	if a == nil {
		t.hedges.Refund()
		return
	}
	defer close(r.done)
	body := req.Body
	if hasBody(req) {
		if body, r.err = req.GetBody(); r.err != nil {
			a.abandon()
			return
		}
	}
	t.figures.hedges.Add(1)
	if r.resp, r.err = a.send(body); r.err != nil {
		a.fail(r.err)
	} else if r.good(r.resp) && r.wins(a) {
		r.first.own.end(errOvertaken)
	}
}

// enter leases a backend for the hedge and lets it take part. It returns nil if the
// race is over, or if no backend is free at once: a hedge would add to a pool that is
// busy.
func (r *race) enter() *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	a := r.t.newAttempt(r.first.caller, 2, ReasonHedge)
	avoid := tried{key: r.key, all: []string{r.first.lease.Backend()}}
	if avoid.lease(a, evenkeel.Call[string]{NoWait: true}) != nil {
		return nil
	}
	a.own = newOwnContext(a.caller.Context())
	r.second = a
	return a
}

// good reports whether a response ends the race.
func (r *race) good(resp *http.Response) bool {
	return resp != nil && resp.StatusCode < 500 && !r.t.unwelcome(resp)
}

// wins reports whether a is the first to bring a good response.
func (r *race) wins(a *attempt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.won == nil {
		r.won = a
	}
	return r.won == a
}

// finish ends the race after the first attempt has returned.
func (r *race) finish(first entry) (kept entry, failed *entry) {
	r.mu.Lock()
	r.closed = true
	second := r.second
	r.mu.Unlock()
	if second == nil {
		return first, nil
	}
	wins := r.good(first.resp) && r.wins(first.a)
	if wins {
		second.own.end(errOvertaken)
	}
	<-r.done
	hedge := entry{second, r.resp, r.err}
	switch {
	case wins:
		r.lost(hedge)
		return first, nil
	case r.won == second:
		r.t.figures.hedgesWon.Add(1)
		r.lost(first)
		return hedge, nil
	case first.resp == nil && hedge.resp != nil:
		return hedge, &first
	}
	return first, &hedge
}

// lost ends the attempt that has not won: as overtaken, or as what it was by itself.
func (r *race) lost(e entry) {
	if r.good(e.resp) {
		e.err = errOvertaken
	}
	e.end()
}
