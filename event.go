package evenkeel

import (
	"slices"
	"time"
)

// Observe makes the pool call f for every event from now on, like Config.OnEvent and
// beside it, until stop is called. Several observers are called in the order in which
// they came. stop may be called more than once, and from f itself; an event that is
// being delivered may still reach f.
func (p *Pool[T]) Observe(f func(Event)) (stop func()) {
	o := &observer{f}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observers = append(slices.Clone(p.observers), o)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.observers = slices.DeleteFunc(slices.Clone(p.observers), func(other *observer) bool { return other == o })
	}
}

// SourceNews gives observers an EventSource: what feeds the pool's members says how it
// fares, in words, with the error if it is in trouble. It changes nothing. It is for
// whoever calls Replace, such as package discover.
func (p *Pool[T]) SourceNews(text string, err error) {
	p.mu.Lock()
	p.queueEvent(Event{Kind: EventSource, Text: text, Cause: err}, p.elapsed())
	p.mu.Unlock()
	p.deliver()
}

// noteState queues an event if the member's state is another than that of the last
// event. The caller holds p.mu.
func (p *Pool[T]) noteState(m *member[T], now time.Duration) {
	from, to := m.lastState, m.state()
	m.lastState = to
	if from == to {
		return
	}
	e := Event{Kind: EventState, Backend: m.identity.backend, From: from, To: to, Cause: m.why()}
	e.Until = p.untilOf(m)
	p.queueEvent(e, now)
}

// untilOf is when a member's state ends by itself, zero if it does not.
func (p *Pool[T]) untilOf(m *member[T]) (until time.Time) {
	switch m.state() {
	case StateEjectedByOutcome:
		until = p.start.Add(m.until)
	case StatePaused:
		until = p.start.Add(m.pausedTo)
	}
	return until
}

// queueEvent keeps an event until deliver gives it to the observers. What NewPool makes
// is no news. The caller holds p.mu.
func (p *Pool[T]) queueEvent(e Event, now time.Duration) {
	if p.snap.Load() == nil || p.cfg.OnEvent == nil && len(p.observers) == 0 {
		return
	}
	e.Pool, e.At = p.cfg.Name, p.start.Add(now)
	p.news.events = append(p.news.events, e)
	p.atEnd.Or(atEndDeliver)
}

// deliver gives the queued events to the observers, in order. If another goroutine is
// giving events, or an observer itself got here, the events are left to that call.
func (p *Pool[T]) deliver() {
	for p.atEnd.Load()&atEndDeliver != 0 && p.news.giving.TryLock() {
		p.giveAll()
	}
}

func (p *Pool[T]) giveAll() {
	defer p.news.giving.Unlock() // also if an observer panics
	for {
		e, observers, any := p.nextEvent()
		if !any {
			return
		}
		if p.cfg.OnEvent != nil {
			p.cfg.OnEvent(e)
		}
		for _, o := range observers {
			o.f(e)
		}
	}
}

func (p *Pool[T]) nextEvent() (e Event, observers []*observer, any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.news.events) == 0 {
		p.atEnd.And(^atEndDeliver)
		p.news.events = nil
		return e, nil, false
	}
	e = p.news.events[0]
	p.news.events = p.news.events[1:]
	return e, p.observers, true
}
