// Package window counts what happened within a sliding stretch of time.
package window

import (
	"math"
	"time"
)

// Buckets is the number of buckets that a Window is divided into. What is older
// than the window is forgotten a bucket at a time, so the window reaches back by
// between 9/10 of its length and all of it.
const Buckets = 10

// A Window keeps two sums over a sliding stretch of time.
//
// The first is fed by a counter that only grows. Whoever counts adds to the
// counter and reads no clock; Roll reads the counter off when a question arises,
// and spreads what is new evenly over the time since the last reading. The second
// sum is fed event by event, with Add, each at its own time.
//
// A time is what has passed since a start of the caller's choice. A time before
// the latest one that the Window was given stands for that latest one, so a clock
// that goes back changes nothing.
//
// Make a Window with New. A Window holds no pointers and takes 272 bytes;
// it is not safe for concurrent use.
type Window struct {
	width   time.Duration // of one bucket, at least 1
	latest  time.Duration // the latest time that was given
	rolled  time.Duration // the counter is accounted for up to here
	counter uint64        // what the counter was then
	buckets [Buckets]bucket
}

// A bucket is the part of a Window that stands for one stretch of time.
type bucket struct {
	at      int64 // number of the stretch: it begins at this many widths
	counted float64
	added   float64
}

// New returns an empty window of the given length at time 0, its counter at 0. A
// length below Buckets nanoseconds stands for that many.
func New(length time.Duration) Window {
	return Window{width: max(length/Buckets, 1)}
}

// Reset forgets all that was counted up to now, when the counter is counter.
func (w *Window) Reset(now time.Duration, counter uint64) {
	now = w.advance(now)
	*w = Window{width: w.width, latest: now, rolled: now, counter: counter}
}

// Roll accounts for a counter that is counter now: what is new is spread evenly
// over the time since the last Roll or Reset. The counter may wrap around.
func (w *Window) Roll(now time.Duration, counter uint64) {
	now = w.advance(now)
	from, fresh := w.rolled, float64(counter-w.counter)
	w.rolled, w.counter = now, counter
	if fresh == 0 {
		return
	}
	if from == now {
		w.bucket(w.number(now)).counted += fresh
		return
	}
	last := w.number(now)
	for at := max(w.number(from), last-Buckets+1); at <= last; at++ {
		begin := time.Duration(at) * w.width
		part := min(begin+w.width, now) - max(begin, from)
		w.bucket(at).counted += fresh * float64(part) / float64(now-from)
	}
}

// Add counts one event, now.
func (w *Window) Add(now time.Duration) {
	w.bucket(w.number(w.advance(now))).added++
}

// Undo takes back the latest event that Add has counted, unless all have been
// forgotten.
func (w *Window) Undo() {
	var newest *bucket
	for i := range w.buckets {
		if b := &w.buckets[i]; b.added > 0 && (newest == nil || b.at > newest.at) {
			newest = b
		}
	}
	if newest != nil {
		newest.added--
	}
}

// Sum returns the two sums within the window that ends now, both whole numbers:
// what the counter has grown by, as of the last Roll, and the events. An event at
// this very time is within the window.
func (w *Window) Sum(now time.Duration) (counted, added float64) { return w.SumSince(now, 0) }

// SumSince is Sum of what is newer than since: the buckets that began after it. A since of
// 0 is before all.
func (w *Window) SumSince(now, since time.Duration) (counted, added float64) {
	oldest := w.number(max(now, w.latest)) - Buckets + 1
	if since > 0 {
		oldest = max(oldest, w.number(since)+1)
	}
	for i := range w.buckets {
		if b := &w.buckets[i]; b.at >= oldest {
			counted += b.counted
			added += b.added
		}
	}
	return math.Round(counted), added
}

// advance takes note of the time.
func (w *Window) advance(now time.Duration) time.Duration {
	w.latest = max(w.latest, now)
	return w.latest
}

// number is that of the stretch of time that a time falls into.
func (w *Window) number(at time.Duration) int64 { return int64(at / w.width) }

// bucket returns the bucket for a stretch of time, emptied if it stood for an
// older one.
func (w *Window) bucket(at int64) *bucket {
	b := &w.buckets[at%Buckets]
	if b.at != at {
		*b = bucket{at: at}
	}
	return b
}
