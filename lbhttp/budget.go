package lbhttp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/window"
)

// budgetWindow is the length of the sliding window of a budget.
const budgetWindow = 10 * time.Second

// budget bounds retries: a share of the requests plus so many a second, over a
// sliding window. A request only adds to a counter, which is read off when a retry
// makes the question arise.
type budget struct {
	share, perSecond float64

	requests atomic.Uint64

	mu     sync.Mutex
	start  time.Time
	window window.Window // counts requests, and retries as events
}

// init prepares a budget that allows share of the requests and perSecond more.
func (b *budget) init(share, perSecond float64, now time.Time) {
	b.share, b.perSecond, b.start = share, perSecond, now
	b.window = window.New(budgetWindow)
}

// spend takes one retry off the budget, if it allows one more.
func (b *budget) spend(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := now.Sub(b.start)
	b.window.Roll(t, b.requests.Load())
	requests, retries := b.window.Sum(t)
	const rounding = 1e-6 // 0.29 of 100 is a little less than 29
	if retries+1 > b.share*requests+b.perSecond*budgetWindow.Seconds()+rounding {
		return false
	}
	b.window.Add(t)
	return true
}

// refund puts back what was spent on a retry that found no backend.
func (b *budget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window.Undo()
}
