package lbhttp

import (
	"sync"
	"sync/atomic"
	"time"
)

// budgetSeconds is the length of the sliding window of a budget, in buckets of
// one second.
const budgetSeconds = 10

// budget bounds retries: a share of the requests plus so many a second, over a
// sliding window. Requests only add to a counter; when a retry makes the question
// arise the counter is read off and what is new is spread evenly over the time
// since it was read last.
type budget struct {
	share, perSecond float64

	requests atomic.Uint64

	mu      sync.Mutex
	start   time.Time
	rolled  time.Duration // the counter was read then
	counter uint64
	buckets [budgetSeconds]struct {
		at                int64 // the second it stands for
		requests, retries float64
	}
}

// spend takes one retry off the budget, if it allows one more.
func (b *budget) spend(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := max(now.Sub(b.start), b.rolled)
	second := int64(t / time.Second)
	at := func(s int64) int {
		i := int(s % budgetSeconds)
		if c := &b.buckets[i]; c.at != s {
			c.at, c.requests, c.retries = s, 0, 0
		}
		return i
	}

	n := b.requests.Load()
	fresh, span := float64(n-b.counter), float64(t-b.rolled)
	for s := max(int64(b.rolled/time.Second), second-budgetSeconds+1); s <= second; s++ {
		lo, hi := max(time.Duration(s)*time.Second, b.rolled), min(time.Duration(s+1)*time.Second, t)
		part := 1.0
		if span > 0 {
			part = float64(hi-lo) / span
		}
		b.buckets[at(s)].requests += fresh * part
	}
	b.rolled, b.counter = t, n

	requests, retries := 0.0, 0.0
	for i := range b.buckets {
		if c := &b.buckets[i]; c.at > second-budgetSeconds {
			requests += c.requests
			retries += c.retries
		}
	}
	if retries+1 > b.share*requests+b.perSecond*budgetSeconds+1e-6 {
		return false
	}
	b.buckets[at(second)].retries++
	return true
}

// refund puts back what was spent on a retry that found no backend.
func (b *budget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := &b.buckets[int64(b.rolled/time.Second)%budgetSeconds]; c.retries >= 1 {
		c.retries--
	}
}
