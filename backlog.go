package evenkeel

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// line is the backlog: the calls that wait because every backend is at its limit,
// oldest first. A freed place goes to the oldest, handed over by the goroutine
// that freed it; a call that comes while others wait queues up behind them, unless
// they wait for some backends only and another is free.
type line[T comparable] struct {
	waiting atomic.Int64 // read without the lock by those who come and go

	mu                   sync.Mutex // taken before Pool.mu where both are needed
	head                 waiter[T]  // of a ring; its next is the oldest
	picky                int        // of the waiting: those who must avoid some backends
	served, shed, gaveUp uint64
	delay                delayState
}

// waiter is one call that waits. Guarded by line.mu, but for ready.
type waiter[T comparable] struct {
	prev, next *waiter[T]
	ready      chan struct{} // says: look at what has become of you
	by         *Dispatcher[T]
	ctx        context.Context
	tried      *[]T // nil: any backend will do
	since      time.Duration
	got        *member[T]
	start      uint32
	fate       fate
	safe       bool // no panic has passed since the lock was taken
}

type fate uint8

const (
	fateWaits  fate = iota
	fateServed      // got and start are its lease
	fateNobody      // nobody is left to wait for
	fateGaveUp      // its context ended
	fateMaxWait
	fateDelay
)

func (l *line[T]) init() { l.head.prev, l.head.next = &l.head, &l.head }

// settle takes w out of the line with its fate and wakes it.
func (l *line[T]) settle(w *waiter[T], f fate) {
	w.prev.next, w.next.prev = w.next, w.prev
	w.fate = f
	l.waiting.Add(-1)
	if w.tried != nil {
		l.picky--
	}
	switch f {
	case fateServed:
		l.served++
	case fateGaveUp:
		l.gaveUp++
	case fateMaxWait, fateDelay:
		l.shed++
	}
	w.poke()
}

func (w *waiter[T]) poke() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// leaseLimited is lease where Config.MaxInFlight is set. It returns no member and
// no error if a race was lost.
func (p *Pool[T]) leaseLimited(ctx context.Context, d *Dispatcher[T], s *snapshot[T], c *candidates, in []*member[T], tried []T) (*member[T], uint32, error) {
	if p.line.waiting.Load() == 0 {
		i, _ := d.policy.Choose(View{c})
		m := in[i]
		start, ok := m.countBelow()
		if !ok {
			m, start, ok = p.roomy(d.policy, s, tried)
		}
		switch {
		case ok && p.snap.Load() == s:
			return m, start, nil
		case ok:
			p.withdraw(m)
			return nil, 0, nil
		}
	}
	return p.line.wait(ctx, d, tried)
}

// roomy lets the policy choose among the backends with room, and counts there.
func (p *Pool[T]) roomy(policy Policy, s *snapshot[T], tried []T) (*member[T], uint32, bool) {
	for {
		n, only := 0, (*member[T])(nil)
		for _, m := range s.in {
			if m.hasRoom(tried) {
				n++
				only = m
			}
		}
		switch n {
		case 0:
			return nil, 0, false
		case 1: // as a rule, when a place has just been freed: nothing to choose
		case len(s.in):
			i, _ := policy.Choose(View{&s.candidates})
			only = s.in[i]
		default:
			c, in := s.only(func(m *member[T]) bool { return m.hasRoom(tried) })
			if len(in) == 0 {
				continue
			}
			i, _ := policy.Choose(View{c})
			only = in[i]
		}
		if start, ok := only.countBelow(); ok {
			return only, start, true
		}
	}
}

func (m *member[T]) hasRoom(tried []T) bool {
	return m.inFlight() < int(m.limit.Load()) && !slices.Contains(tried, m.backend)
}

// wait queues up and waits.
func (l *line[T]) wait(ctx context.Context, d *Dispatcher[T], tried []T) (*member[T], uint32, error) {
	w := &waiter[T]{ready: make(chan struct{}, 1), by: d, ctx: ctx, since: d.pool.elapsed()}
	if len(tried) > 0 {
		list := tried // so that only this case moves to the heap
		w.tried = &list
	}
	patience, waits, err := l.queue(d.pool, w)
	switch {
	case err != nil:
		return nil, 0, err
	case !waits:
		return w.got, w.start, nil
	}
	return l.await(d.pool, w, patience)
}

// queue puts w at the end of the line, if that is not full and w has to wait.
func (l *line[T]) queue(p *Pool[T], w *waiter[T]) (patience time.Duration, waits bool, err error) {
	l.mu.Lock()
	defer l.unlock(p, w)
	if l.picky > 0 && l.picky == int(l.waiting.Load()) {
		// Those who wait can use some backends only: another may be free.
		if m, start, ok := l.place(p, p.upToDate(p.snap.Load()), w); ok {
			w.got, w.start, w.fate = m, start, fateServed
			w.safe = true
			return 0, false, nil
		}
	}
	if n := l.waiting.Load(); n >= int64(p.cfg.Backlog) {
		l.shed++
		w.safe = true
		return 0, false, &OverloadedError{Reason: ShedFull, Waiting: int(n)}
	}
	w.prev, w.next = l.head.prev, &l.head
	w.prev.next, l.head.prev = w, w
	l.waiting.Add(1)
	if w.tried != nil {
		l.picky++
	}
	// A place that was freed before we were counted as waiting is still free.
	l.serve(p)
	patience = l.patience(p, w)
	w.safe = true
	return patience, true, nil
}

// unlock unlocks l.mu. If a user's policy or signal has panicked meanwhile, on
// w's goroutine, w is taken out of the line, or gives back what it was given: its
// Lease will not return.
func (l *line[T]) unlock(p *Pool[T], w *waiter[T]) {
	panicked, served := !w.safe, w.fate == fateServed
	w.safe = false
	if panicked && w.fate == fateWaits && w.next != nil {
		l.settle(w, fateGaveUp)
	}
	l.mu.Unlock()
	if panicked && served {
		p.ended(w.got, w.start, OutcomeNeutral, nil)
	}
}

// await is what the waiting call does. The wait costs a timer only where a limit
// of time, or the end of an ejection, can end it; and none where Config.Now is a
// clock that timers know nothing of.
func (l *line[T]) await(p *Pool[T], w *waiter[T], patience time.Duration) (*member[T], uint32, error) {
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
		if patience, settled = l.look(p, w); settled {
			return l.leave(p, w)
		}
	}
}

// look is what a waiting call does when it has been woken.
func (l *line[T]) look(p *Pool[T], w *waiter[T]) (patience time.Duration, settled bool) {
	l.mu.Lock()
	defer l.unlock(p, w)
	if w.fate == fateWaits && w.ctx.Err() != nil {
		l.settle(w, fateGaveUp)
	}
	if w.fate == fateWaits {
		l.serve(p)
	}
	if w.fate == fateWaits && p.cfg.MaxWait > 0 && p.elapsed()-w.since >= p.cfg.MaxWait {
		l.settle(w, fateMaxWait)
	}
	if settled = w.fate != fateWaits; settled {
		l.alertHead(p)
	} else {
		patience = l.patience(p, w)
	}
	w.safe = true
	return patience, settled
}

const forEver = time.Duration(math.MaxInt64)

// patience is how long w may sleep before it must look by itself.
func (l *line[T]) patience(p *Pool[T], w *waiter[T]) time.Duration {
	until := forEver
	if p.cfg.MaxWait > 0 {
		until = later(w.since, p.cfg.MaxWait)
	}
	// The oldest looks at the clock for all.
	if s := p.snap.Load(); s.due != 0 && l.head.next == w {
		until = min(until, s.due)
	}
	if until == forEver {
		return forEver
	}
	return max(until-p.elapsed(), 0)
}

// alertHead makes the oldest waiter look again when it must be woken: it may have
// become the oldest just now, or what is due may have changed.
func (l *line[T]) alertHead(p *Pool[T]) {
	if w := l.head.next; w != &l.head && p.snap.Load().due != 0 {
		w.poke()
	}
}

// leave turns w's fate into what Lease returns.
func (l *line[T]) leave(p *Pool[T], w *waiter[T]) (*member[T], uint32, error) {
	overloaded := func(r ShedReason) error {
		return &OverloadedError{Reason: r, Waiting: int(l.waiting.Load()), Waited: p.elapsed() - w.since}
	}
	switch w.fate {
	case fateServed:
		if w.ctx.Err() != nil {
			// Served and given up at once: the place, which may be a trial, goes
			// to the next.
			l.mu.Lock()
			l.served--
			l.gaveUp++
			l.mu.Unlock()
			p.ended(w.got, w.start, OutcomeNeutral, nil)
			return nil, 0, context.Cause(w.ctx)
		}
		return w.got, w.start, nil
	case fateMaxWait:
		return nil, 0, overloaded(ShedMaxWait)
	case fateDelay:
		return nil, 0, overloaded(ShedDelay)
	case fateNobody:
		s := p.snap.Load()
		none := *s.none
		if w.tried != nil {
			none.Avoided = len(s.in)
		}
		return nil, 0, &none
	}
	return nil, 0, context.Cause(w.ctx)
}

// freed hands a place that has just been freed to who waits for it.
func (l *line[T]) freed(p *Pool[T]) {
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serve(p)
}

// rush is freed after a change of the pool: there may be places on many backends,
// or none to wait for any more.
func (l *line[T]) rush(p *Pool[T]) {
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serve(p)
	l.alertHead(p)
}

// serve gives every free place to a waiter. The caller holds l.mu.
func (l *line[T]) serve(p *Pool[T]) {
	for w := l.head.next; w != &l.head; {
		next := w.next
		if w.ctx.Err() != nil {
			l.settle(w, fateGaveUp)
			w = next
			continue
		}
		s := p.upToDate(p.snap.Load())
		if !l.hopeful(s, w) {
			l.settle(w, fateNobody)
			w = next
			continue
		}
		if w == l.head.next && l.sheds(p) {
			if !l.anyRoom(s) {
				return
			}
			if v := l.choose(p, w); v != w {
				if v == nil { // the oldest was shed
					w = l.head.next
					continue
				}
				w, next = v, l.head.next
			}
		}
		if m, start, ok := l.place(p, s, w); ok {
			w.got, w.start = m, start
			l.settle(w, fateServed)
		} else if w.tried == nil {
			return // no room for anyone
		}
		w = next
	}
}

// hopeful reports whether there is a backend that w could ever be given.
func (l *line[T]) hopeful(s *snapshot[T], w *waiter[T]) bool {
	if len(s.in) == 0 {
		return len(s.trials) > 0
	}
	return w.tried == nil || slices.ContainsFunc(s.in, func(m *member[T]) bool { return !slices.Contains(*w.tried, m.backend) })
}

func (l *line[T]) anyRoom(s *snapshot[T]) bool {
	return len(s.trials) > 0 ||
		slices.ContainsFunc(s.in, func(m *member[T]) bool { return m.hasRoom(nil) })
}

// place counts w in on a backend that its policy takes among those with room.
func (l *line[T]) place(p *Pool[T], s *snapshot[T], w *waiter[T]) (*member[T], uint32, bool) {
	var tried []T
	if w.tried != nil {
		tried = *w.tried
	}
	for {
		if len(s.trials) > 0 {
			if m, start, ok := p.takeTrial(s, tried); ok {
				return m, start, true
			}
		}
		m, start, ok := p.roomy(w.by.policy, s, tried)
		if !ok {
			return nil, 0, false
		}
		now := p.snap.Load()
		if now == s {
			return m, start, true
		}
		m.uncount()
		s = now
	}
}

// delayState is where the controlled-delay rule stands.
type delayState struct {
	above    time.Duration // waits have been above the target since; 0: they are not
	dropping bool
	drops    int
	next     time.Duration // when the next one is shed
}

// sheds reports whether calls are shed that have waited too long.
func (l *line[T]) sheds(p *Pool[T]) bool {
	return p.cfg.MaxWait > 0 || p.cfg.ControlledDelay.Target > 0
}

// choose applies MaxWait and ControlledDelay when a place is free: it returns who
// is served, or nil after it has shed the oldest.
func (l *line[T]) choose(p *Pool[T], oldest *waiter[T]) *waiter[T] {
	cfg, d, now := &p.cfg.ControlledDelay, &l.delay, p.elapsed()
	if p.cfg.MaxWait > 0 && now-oldest.since >= p.cfg.MaxWait {
		l.settle(oldest, fateMaxWait)
		return nil
	}
	if cfg.Target == 0 {
		return oldest
	}
	if now-oldest.since < cfg.Target {
		*d = delayState{}
		return oldest
	}
	switch {
	case d.above == 0:
		d.above = max(now, 1)
	case !d.dropping && now-d.above >= cfg.Interval:
		d.dropping, d.drops, d.next = true, 0, now
	}
	if !d.dropping {
		return oldest
	}
	if now >= d.next && oldest.next != &l.head {
		d.drops++
		d.next += time.Duration(float64(cfg.Interval) / math.Sqrt(float64(d.drops)))
		l.settle(oldest, fateDelay)
		return nil
	}
	return l.head.prev // newest first
}

func (l *line[T]) stats(p *Pool[T]) LineStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := LineStats{Waiting: int(l.waiting.Load()), Served: l.served, Shed: l.shed, GaveUp: l.gaveUp}
	if w := l.head.next; w != nil && w != &l.head {
		s.OldestWait = p.elapsed() - w.since
	}
	return s
}
