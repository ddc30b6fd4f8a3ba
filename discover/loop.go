package discover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// loop is the state of the one goroutine that decides. A lookup runs in a goroutine of
// its own, which only reports its end, so nothing here needs a lock.
type loop[T comparable] struct {
	cfg    Config
	ctx    context.Context
	source Source[T]
	feed   feed[T]
	random *rand.Rand
	first  chan error    // gets nil with the first answer, or an error that no lookup can help
	poke   chan struct{} // somebody wants a lookup
	ended  chan lookup[T]

	running  bool      // a lookup is under way
	overdue  bool      // it has been counted as failed, since it did not end in time
	wanted   bool      // somebody has wanted another one meanwhile
	begun    time.Time // the latest one
	next     time.Time // when the next one is due
	failures int       // in a row
	answered bool      // first is settled
	changed  <-chan struct{}
}

// lookup is how a lookup has ended.
type lookup[T comparable] struct {
	answer Answer[T]
	err    error
}

// far is later than anything.
const far = 1000 * time.Hour

// run asks until the context ends, and then waits for the lookup under way.
func (l *loop[T]) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			if l.running {
				<-l.ended
			}
			return
		case <-l.poke:
			l.want()
		case <-l.changed:
			l.changed = nil
			l.want()
		case got := <-l.ended:
			l.running, l.overdue = false, false
			if l.ctx.Err() == nil {
				l.take(got, time.Now())
			}
		case <-timer.C:
		}
		if l.ctx.Err() == nil {
			timer.Reset(time.Until(l.act(time.Now())))
		}
	}
}

// want makes a lookup come as soon as MinInterval allows.
func (l *loop[T]) want() {
	l.wanted = l.running
	l.next = earlier(l.next, l.begun.Add(l.cfg.MinInterval))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// act does what is due, and returns when it must be called again.
func (l *loop[T]) act(now time.Time) time.Time {
	if !l.running && !now.Before(l.next) {
		l.begin(now)
	}
	again := l.next
	if l.running {
		again = l.begun.Add(l.cfg.Timeout + l.cfg.Timeout/4) // later than its own end
		if !now.Before(again) {
			if !l.overdue {
				l.overdue = true
				err := fmt.Errorf("the lookup has not ended after %v, although its context has", now.Sub(l.begun))
				l.take(lookup[T]{err: err}, now)
			}
			again = now.Add(far)
		}
	}
	stale, any := l.feed.keeper.staleAt()
	if any && !now.Before(stale) {
		l.feed.drop()
		any = false
	}
	if any {
		again = earlier(again, stale)
	}
	return again
}

var errExited = errors.New("the source called runtime.Goexit")

// begin starts a lookup.
func (l *loop[T]) begin(now time.Time) {
	l.running, l.begun = true, now
	l.feed.record.update(func(s *Stats) { s.Lookups++ })
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.Timeout)
	go func() {
		got := lookup[T]{err: errExited}
		defer func() {
			cancel()
			l.ended <- got
		}()
		got.answer, got.err = l.source.Lookup(ctx)
	}()
}

// take draws the consequences of a lookup.
func (l *loop[T]) take(got lookup[T], now time.Time) {
	l.changed = got.answer.Changed
	err := l.feed.take(got.answer, got.err, now)
	l.schedule(err == nil, got.answer.TTL, now)
	if !l.answered && (err == nil || errors.Is(err, evenkeel.ErrBadConfig)) {
		l.answered = true
		l.first <- err
	}
}

// schedule says when the next lookup is due after one that has ended.
func (l *loop[T]) schedule(good bool, ttl time.Duration, now time.Time) {
	wait, from := l.cfg.Interval, l.begun
	if good {
		l.failures = 0
	} else {
		from = now
		if doubled := l.cfg.MinInterval << min(l.failures, 30); doubled > 0 {
			wait = min(wait, doubled)
		}
		l.failures++
	}
	if ttl > 0 {
		wait = min(wait, ttl)
	}
	wait -= time.Duration(l.cfg.Jitter * l.random.Float64() * float64(wait))
	l.next = from.Add(max(wait, l.cfg.MinInterval))
	if l.wanted {
		l.wanted = false
		l.want()
	}
}
