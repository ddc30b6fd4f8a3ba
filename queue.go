package evenkeel

import (
	"math"
	"slices"
	"time"
)

// Who waits, and who is next. Everything here needs backlog.mu, but for serveAfter.

func (b *backlog[T]) init() { b.queues = []*queue[T]{newQueue[T](nil)} }

func newQueue[T comparable](avoid []T) *queue[T] {
	q := &queue[T]{avoid: avoid}
	q.head.prev, q.head.next = &q.head, &q.head
	return q
}

// oldest returns the first of the queue, nil if nobody is in it.
func (q *queue[T]) oldest() *waiter[T] {
	if q.size == 0 {
		return nil
	}
	return q.head.next
}

// enter puts w at the end of the queue of those that avoid the same backends.
func (b *backlog[T]) enter(w *waiter[T]) {
	b.number++
	w.number = b.number
	w.in = b.queueFor(w.avoid())
	q := w.in
	w.prev, w.next = q.head.prev, &q.head
	w.prev.next, q.head.prev = w, w
	q.size++
	b.waiting.Add(1)
}

func (b *backlog[T]) queueFor(avoid []T) *queue[T] {
	for _, q := range b.queues {
		if sameSet(q.avoid, avoid) {
			return q
		}
	}
	q := newQueue(slices.Clone(avoid))
	b.queues = append(b.queues, q)
	return q
}

func sameSet[T comparable](a, b []T) bool {
	within := func(a, b []T) bool {
		return !slices.ContainsFunc(a, func(x T) bool { return !slices.Contains(b, x) })
	}
	return within(a, b) && within(b, a)
}

// settle takes w out of its queue with its fate and wakes it.
func (b *backlog[T]) settle(w *waiter[T], f fate) {
	q := w.in
	w.prev.next, w.next.prev = w.next, w.prev
	w.fate = f
	b.waiting.Add(-1)
	if q.size--; q.size == 0 && len(q.avoid) > 0 {
		b.queues = slices.DeleteFunc(b.queues, func(other *queue[T]) bool { return other == q })
	}
	switch f {
	case fateServed:
		b.served++
	case fateGaveUp:
		b.gaveUp++
	case fateMaxWait, fateDelay:
		b.shed++
	}
	w.poke()
}

func (w *waiter[T]) avoid() []T {
	if w.call == nil {
		return nil
	}
	return w.call.Avoid
}

func (w *waiter[T]) key() string {
	if w.call == nil {
		return ""
	}
	return w.call.Key
}

func (w *waiter[T]) poke() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// oldest returns the waiter that came first, nil if nobody waits.
func (b *backlog[T]) oldest() (first *waiter[T]) {
	for _, q := range b.queues {
		if w := q.oldest(); w != nil && (first == nil || w.number < first.number) {
			first = w
		}
	}
	return first
}

// serveAfter gives the place that a call has left to who waits for it.
func (p *Pool[T]) serveAfter() {
	if p.cfg.MaxInFlight == 0 || p.backlog.waiting.Load() == 0 {
		return
	}
	p.backlog.mu.Lock()
	defer p.backlog.mu.Unlock()
	p.serve()
}

// serveAll is serveAfter a change of the pool: there may be places on many backends, or
// none to wait for any more.
func (p *Pool[T]) serveAll() {
	if p.backlog.waiting.Load() == 0 {
		return
	}
	p.backlog.mu.Lock()
	defer p.backlog.mu.Unlock()
	p.serve()
	p.alertOldest()
}

// serve gives every free place to a waiter: of those that may use it, to the one that
// came first. The cost is in proportion to the number of sets of backends that waiters
// avoid, not to the number of waiters.
func (p *Pool[T]) serve() {
	b := &p.backlog
	for {
		s := p.upToDate(p.snap.Load())
		w, stuck := p.nextServed(s)
		if w == nil {
			return
		}
		if stuck != fateWaits {
			b.settle(w, stuck)
			continue
		}
		m, start, ok := p.place(s, w)
		if !ok {
			continue // the snapshot or the room has gone: look again
		}
		w.got, w.start = m, start
		b.settle(w, fateServed)
	}
}

// nextServed returns the next waiter to be taken out of its queue, with its fate:
// fateWaits stands for being served. It returns nil if there is none.
func (p *Pool[T]) nextServed(s *snapshot[T]) (*waiter[T], fate) {
	b := &p.backlog
	var next *waiter[T]
	for _, q := range b.queues {
		w := q.oldest()
		switch {
		case w == nil:
			continue
		case w.ctx.Err() != nil:
			return w, fateGaveUp
		case !s.canEverServe(w.avoid(), p.offered.Load() > 0):
			return w, fateNobody
		case next != nil && next.number < w.number:
			continue
		case p.canServe(s, w.avoid()):
			next = w
		}
	}
	if next == nil || !p.sheds() {
		return next, fateWaits
	}
	return p.shedOrServe(next)
}

// canEverServe reports whether there is a backend that a call could ever be given.
func (s *snapshot[T]) canEverServe(avoid []T, trials bool) bool {
	if len(s.in) == 0 {
		return trials
	}
	for g := range s.groups {
		if len(avoid) == 0 || slices.ContainsFunc(g.in, func(m *member[T]) bool { return !slices.Contains(avoid, m.backend) }) {
			return true
		}
	}
	return false
}

// canServe reports whether there is a place for a call now.
func (p *Pool[T]) canServe(s *snapshot[T], avoid []T) bool {
	if p.offered.Load() > 0 && p.canTry(avoid) {
		return true
	}
	for g := range s.groups {
		if slices.ContainsFunc(g.in, func(m *member[T]) bool { return m.hasRoom(avoid) }) {
			return true
		}
	}
	return false
}

// canTry reports whether a call may be the trial of some member.
func (p *Pool[T]) canTry(avoid []T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.trials, func(m *member[T]) bool { return m.triable() && !m.isFull() && !slices.Contains(avoid, m.backend) })
}

// place counts w in on a backend that its policy takes among those with room.
func (p *Pool[T]) place(s *snapshot[T], w *waiter[T]) (*member[T], uint32, bool) {
	if p.offered.Load() > 0 {
		p.mu.Lock()
		m, start, ok := p.beginTrial(w.avoid())
		p.mu.Unlock()
		if ok {
			return m, start, true
		}
	}
	return p.takeWithRoom(s, w.by, w.key(), w.avoid())
}

// patience is how long w may sleep before it must look by itself.
func (p *Pool[T]) patience(w *waiter[T]) time.Duration {
	until := forEver
	if p.cfg.MaxWait > 0 {
		until = later(w.since, p.cfg.MaxWait)
	}
	// The oldest looks at the clock for all.
	if due := p.due.Load(); due != 0 && p.backlog.oldest() == w {
		until = min(until, time.Duration(due))
	}
	if until == forEver {
		return forEver
	}
	return max(until-p.elapsed(), 0)
}

// alertOldest makes the oldest waiter look again when it must be woken: it may have
// become the oldest just now, or what is due may have changed.
func (p *Pool[T]) alertOldest() {
	if w := p.backlog.oldest(); w != nil && p.due.Load() != 0 {
		w.poke()
	}
}

// sheds reports whether calls are shed that have waited too long.
func (p *Pool[T]) sheds() bool { return p.cfg.MaxWait > 0 || p.cfg.ControlledDelay.Target > 0 }

// shedOrServe applies MaxWait and ControlledDelay when a place is free for the oldest
// call that may use it: it returns that call to be shed, or who is served.
func (p *Pool[T]) shedOrServe(oldest *waiter[T]) (*waiter[T], fate) {
	cfg, d, now := &p.cfg.ControlledDelay, &p.backlog.delay, p.elapsed()
	if p.cfg.MaxWait > 0 && now-oldest.since >= p.cfg.MaxWait {
		return oldest, fateMaxWait
	}
	if cfg.Target == 0 {
		return oldest, fateWaits
	}
	if now-oldest.since < cfg.Target {
		*d = delayState{}
		return oldest, fateWaits
	}
	switch {
	case d.above == 0:
		d.above = max(now, 1)
	case !d.dropping && now-d.above >= cfg.Interval:
		d.dropping, d.drops, d.next = true, 0, now
	}
	if !d.dropping {
		return oldest, fateWaits
	}
	newest := oldest.in.head.prev
	if now >= d.next && newest != oldest {
		d.drops++
		d.next += time.Duration(float64(cfg.Interval) / math.Sqrt(float64(d.drops)))
		return oldest, fateDelay
	}
	return newest, fateWaits
}
