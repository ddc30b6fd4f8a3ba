package health

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// loop is the state of the one goroutine that decides. Each probe runs in a
// goroutine of its own, which only reports its end, so nothing here needs a lock.
type loop[T comparable] struct {
	cfg    Config
	pool   *evenkeel.Pool[T]
	probe  func(ctx context.Context, backend T) error
	ctx    context.Context
	random *rand.Rand

	targets map[T]*target[T]
	agenda  agenda[T]    // those with an event to come
	line    []*target[T] // those due and waiting for a place, first come first
	places  int          // taken by probes, at most cfg.MaxProbes
	open    int          // goroutines of probes that have not ended
	ended   chan ended[T]
}

// ended is a probe's report of its end.
type ended[T comparable] struct {
	target *target[T]
	err    error
}

// followEvery is the longest time between two looks at the pool's members.
const followEvery = time.Second

// keepGone is how long a backend that left the pool is remembered. A backend that
// is missing from the list for a while returns with its verdict and count.
const keepGone = 5 * time.Minute

// run probes until the context ends.
func (l *loop[T]) run() {
	follow := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case e := <-l.ended:
			l.finished(e)
		case <-timer.C:
		}
		if l.ctx.Err() != nil { // both at once: Close has been called
			return
		}
		now := time.Now()
		if !now.Before(follow) {
			l.follow(now)
			follow = now.Add(min(followEvery, l.cfg.Interval))
		}
		next := follow
		for len(l.agenda) > 0 {
			if t := l.agenda[0]; t.at.After(now) {
				next = earlier(next, t.at)
				break
			}
			l.happen(heap.Pop(&l.agenda).(*target[T]), now)
		}
		for len(l.line) > 0 && l.places < l.cfg.MaxProbes {
			t := l.line[0]
			l.line = slices.Delete(l.line, 0, 1)
			l.begin(t, now)
			next = earlier(next, t.at)
		}
		timer.Reset(time.Until(next))
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// follow takes over who is a member now.
func (l *loop[T]) follow(now time.Time) {
	members := make(map[T]struct{}, len(l.targets))
	for b := range l.pool.All() {
		members[b] = struct{}{}
		t := l.targets[b]
		switch {
		case t == nil:
			t = &target[T]{backend: b, pos: nowhere}
			l.targets[b] = t
		case t.goneAt.IsZero():
			continue
		}
		t.goneAt = time.Time{}
		if t.phase == idle {
			l.schedule(t, now.Add(l.cut()))
		} else { // the old probe has not ended yet, and there is one at a time
			t.phase = hung
			l.schedule(t, now.Add(l.cfg.Interval))
		}
	}
	for b, t := range l.targets {
		if _, is := members[b]; is {
			continue
		}
		if t.goneAt.IsZero() {
			t.goneAt = now
			l.unschedule(t)
			if t.phase == asked {
				t.phase = voided
				t.cancel()
				l.places--
			}
		}
		if t.phase == idle && now.Sub(t.goneAt) >= keepGone {
			l.withdraw(t)
			delete(l.targets, b)
		}
	}
}

// cut is the share of an interval that is left out this time.
func (l *loop[T]) cut() time.Duration {
	return time.Duration(l.cfg.Jitter * l.random.Float64() * float64(l.cfg.Interval))
}

// due is when the probe after the one that began last is to begin.
func (l *loop[T]) due(t *target[T]) time.Time { return t.begun.Add(l.cfg.Interval - l.cut()) }

func (l *loop[T]) schedule(t *target[T], at time.Time) {
	l.unschedule(t)
	t.at = at
	heap.Push(&l.agenda, t)
}

func (l *loop[T]) unschedule(t *target[T]) {
	switch {
	case t.pos >= 0:
		heap.Remove(&l.agenda, t.pos)
	case t.pos == inLine:
		l.line = slices.DeleteFunc(l.line, func(o *target[T]) bool { return o == t })
	}
	t.pos = nowhere
}

// happen is the event that t was on the agenda for.
func (l *loop[T]) happen(t *target[T], now time.Time) {
	switch t.phase {
	case idle:
		t.pos = inLine
		l.line = append(l.line, t)
		return
	case asked: // the probe's context has ended, but the probe has not
		t.phase = hung
		l.places--
	}
	// A probe that hangs counts as a failure once an interval: the verdict from
	// before must not stand for ever.
	took := now.Sub(t.begun)
	next := now.Add(l.cfg.Interval - l.cut())
	l.judge(t, took, fmt.Errorf("the probe has not ended after %v, although its context has", took))
	l.schedule(t, next)
}

// begin starts a probe of t, for which there is a place.
func (l *loop[T]) begin(t *target[T], now time.Time) {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Timeout)
	t.phase, t.begun, t.cancel, t.pos = asked, now, cancel, nowhere
	l.places++
	l.open++
	l.schedule(t, now.Add(l.cfg.Timeout+l.cfg.Timeout/4)) // later than its own end
	go func() {
		err := errExited
		defer func() {
			cancel()
			l.ended <- ended[T]{t, err}
		}()
		err = l.probe(ctx, t.backend)
		if ctx.Err() == context.DeadlineExceeded {
			if err == nil {
				err = errors.New("it passed, but too late")
			}
			err = fmt.Errorf("took longer than the timeout of %v: %w", l.cfg.Timeout, err)
		}
	}()
}

var errExited = errors.New("the probe called runtime.Goexit")

// finished takes in the end of a probe.
func (l *loop[T]) finished(e ended[T]) {
	t := e.target
	l.open--
	was := t.phase
	t.phase = idle
	if was == asked {
		l.places--
		l.judge(t, time.Since(t.begun), e.err)
	}
	if t.goneAt.IsZero() {
		l.schedule(t, l.due(t)) // at once, if that has passed
	}
}

// judge draws the consequences of a probe. While the verdict is down the pool gets
// every failure, not only the first: Restore may have come in between, and holds
// until the next probe.
func (l *loop[T]) judge(t *target[T], took time.Duration, err error) {
	if err != nil {
		err = fmt.Errorf("health: probe of %s: %w", nameOf(t.backend), err)
	}
	changed := t.count(err == nil, &l.cfg)
	switch {
	case t.down && err != nil:
		l.report(t, err)
	case changed, !t.checked && !t.down && err == nil:
		l.report(t, nil)
		t.checked = true
	}
	if l.cfg.OnResult != nil && l.ctx.Err() == nil {
		l.cfg.OnResult(Result{
			Backend: t.backend, Err: err, Start: t.begun, Took: took,
			Streak: max(t.passed, t.lost), Up: !t.down, Changed: changed,
		})
	}
}

// withdraw takes back a verdict that t is down.
func (l *loop[T]) withdraw(t *target[T]) {
	if t.down {
		l.report(t, nil)
	}
}

// report passes a verdict to the pool: why t is down, or nil if t is up. An error
// means that t is no member any more, which follow notices.
func (l *loop[T]) report(t *target[T], why error) {
	_ = l.pool.SetHealth(t.backend, why)
}

// drain withdraws all verdicts and waits for the probes under way. While it
// waits, left names their backends.
func (l *loop[T]) drain(left *atomic.Pointer[[]string]) {
	for _, t := range l.targets {
		l.withdraw(t)
	}
	for l.open > 0 {
		var names []string
		for _, t := range l.targets {
			if t.phase != idle {
				names = append(names, nameOf(t.backend))
			}
		}
		slices.Sort(names)
		left.Store(&names)
		e := <-l.ended
		e.target.phase = idle
		l.open--
	}
}
