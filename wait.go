package evenkeel

import (
	"context"
	"time"
)

// One call that waits.

// wait queues up and waits.
func (p *Pool[T]) wait(ctx context.Context, by *chooser, call Call[T]) (*member[T], uint32, error) {
	w := &waiter[T]{ready: make(chan struct{}, 1), by: by, ctx: ctx, since: p.elapsed()}
	if call.Key != "" || len(call.Avoid) > 0 {
		own := call // so that only this case moves to the heap
		w.call = &own
	}
	patience, waits, err := p.queueUp(w, call.NoWait)
	switch {
	case err != nil:
		return nil, 0, err
	case !waits:
		return w.got, w.start, nil
	}
	return p.await(w, patience)
}

// queueUp puts w at the end of its queue, if the backlog is not full and w has to wait.
func (p *Pool[T]) queueUp(w *waiter[T], noWait bool) (patience time.Duration, waits bool, err error) {
	b := &p.backlog
	b.mu.Lock()
	defer p.unlock(w)
	if b.queues[0].size == 0 && b.waiting.Load() > 0 {
		// Those who wait can use some backends only: another may be free.
		if m, start, ok := p.place(p.upToDate(p.snap.Load()), w); ok {
			w.got, w.start, w.fate = m, start, fateServed
			w.safe = true
			return 0, false, nil
		}
	}
	if n := b.waiting.Load(); n >= int64(p.cfg.Backlog) || noWait {
		b.shed++
		w.safe = true
		reason := ShedFull
		if noWait {
			reason = ShedNoWait
		}
		return 0, false, &OverloadedError{Pool: p.cfg.Name, Reason: reason, Waiting: int(n)}
	}
	b.enter(w)
	// A place that was freed before w was counted as waiting is still free.
	p.serve()
	patience = p.patience(w)
	w.safe = true
	return patience, true, nil
}

// unlock unlocks the backlog. If a user's policy or signal has panicked meanwhile, on w's
// goroutine, w is taken out of its queue, or gives back what it was given: its Lease will
// not return.
func (p *Pool[T]) unlock(w *waiter[T]) {
	panicked, served := !w.safe, w.fate == fateServed
	w.safe = false
	if panicked && w.fate == fateWaits && w.in != nil {
		p.backlog.settle(w, fateGaveUp)
	}
	p.backlog.mu.Unlock()
	if panicked && served {
		p.ended(w.got, w.start, OutcomeNeutral, nil)
	}
}

// await is what the waiting call does. The wait costs a timer only where a limit of time,
// or the end of an ejection, can end it; and none where Config.Now is a clock that timers
// know nothing of.
func (p *Pool[T]) await(w *waiter[T], patience time.Duration) (*member[T], uint32, error) {
	var timer *time.Timer
	for {
		var alarm <-chan time.Time
		if patience < forEver && !p.ownClock {
			if timer == nil {
				timer = time.NewTimer(patience)
				defer timer.Stop()
			} else {
				timer.Reset(patience)
			}
			alarm = timer.C
		}
		select {
		case <-w.ready:
		case <-alarm:
		case <-w.ctx.Done():
		}
		var settled bool
		if patience, settled = p.lookAfter(w); settled {
			return p.leave(w)
		}
	}
}

// lookAfter is what a waiting call does when it has been woken.
func (p *Pool[T]) lookAfter(w *waiter[T]) (patience time.Duration, settled bool) {
	b := &p.backlog
	b.mu.Lock()
	defer p.unlock(w)
	if w.fate == fateWaits && w.ctx.Err() != nil {
		b.settle(w, fateGaveUp)
	}
	if w.fate == fateWaits {
		p.serve()
	}
	if w.fate == fateWaits && p.cfg.MaxWait > 0 && p.elapsed()-w.since >= p.cfg.MaxWait {
		b.settle(w, fateMaxWait)
	}
	if settled = w.fate != fateWaits; settled {
		p.alertOldest()
	} else {
		patience = p.patience(w)
	}
	w.safe = true
	return patience, settled
}

// leave turns w's fate into what Lease returns.
func (p *Pool[T]) leave(w *waiter[T]) (*member[T], uint32, error) {
	overloaded := func(r ShedReason) error {
		return &OverloadedError{Pool: p.cfg.Name, Reason: r, Waiting: int(p.backlog.waiting.Load()), Waited: p.elapsed() - w.since}
	}
	switch w.fate {
	case fateServed:
		if w.ctx.Err() == nil {
			return w.got, w.start, nil
		}
		// Served and given up at once: the place, which may be a trial, goes to the next.
		p.backlog.mu.Lock()
		p.backlog.served--
		p.backlog.gaveUp++
		p.backlog.mu.Unlock()
		p.ended(w.got, w.start, OutcomeNeutral, nil)
	case fateMaxWait:
		return nil, 0, overloaded(ShedMaxWait)
	case fateDelay:
		return nil, 0, overloaded(ShedDelay)
	case fateNobody:
		s := p.snap.Load()
		return nil, 0, s.nobody(w.avoid())
	}
	return nil, 0, context.Cause(w.ctx)
}
