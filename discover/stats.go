package discover

import (
	"sync"
	"time"
)

// Stats is how a Follower fares. Times are zero for what has not happened.
type Stats struct {
	Members  int       // that the pool has been given
	Lookups  uint64    // begun, ever
	Failed   uint64    // of them, ended with an error, or not in time
	Empty    uint64    // of them, without a member that could get a call
	Shrunk   uint64    // of them, not believed since too many were left out
	Changes  uint64    // of the members, ever
	LastGood time.Time // when an answer was last believed
	Since    time.Time // since when the members are not what the source says; zero: they are
	Err      error     // why, by the latest lookup; nil if Since is zero
	Skipped  error     // the entries that the latest answer held and no pool takes; nil: none
}

// record keeps the Stats for whoever asks.
type record struct {
	mu sync.Mutex
	s  Stats
}

func (r *record) get() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.s
}

func (r *record) update(f func(*Stats)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.s)
}
