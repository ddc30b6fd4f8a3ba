// Package budget bounds how often calls are tried again.
package budget

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/window"
)

// Window is the length of the sliding window of a budget.
const Window = 10 * time.Second

// A Budget allows a share of the calls to be tried again, plus so many tries a second,
// over a sliding window. A call only adds to a counter, which is read off when a retry
// makes the question arise. A Budget is safe for concurrent use. Make one with New.
type Budget struct {
	share, perSecond float64

	calls atomic.Uint64

	mu     sync.Mutex
	start  time.Time
	window window.Window // counts calls, and retries as events
}

// New returns a budget that allows share of the calls and perSecond more. Its time begins
// at start.
func New(share, perSecond float64, start time.Time) *Budget {
	return &Budget{share: share, perSecond: perSecond, start: start, window: window.New(Window)}
}

// Count counts one call.
func (b *Budget) Count() { b.calls.Add(1) }

// Calls returns how many calls have been counted, ever: none by a nil Budget.
func (b *Budget) Calls() uint64 {
	if b == nil {
		return 0
	}
	return b.calls.Load()
}

// Spend takes one retry off the budget, and reports whether it allowed one more.
func (b *Budget) Spend(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := now.Sub(b.start)
	b.window.Roll(t, b.calls.Load())
	calls, retries := b.window.Sum(t)
	const rounding = 1e-6 // 0.29 of 100 is a little less than 29
	if retries+1 > b.share*calls+b.perSecond*Window.Seconds()+rounding {
		return false
	}
	b.window.Add(t)
	return true
}

// Refund puts back what was spent on a retry that was not made.
func (b *Budget) Refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window.Undo()
}
