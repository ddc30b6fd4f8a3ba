package status

import (
	"slices"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// kept is how many events of a pool are shown.
const kept = 20

// history keeps the last events of one pool, and since when each backend that had one is
// in its state.
type history struct {
	mu     sync.Mutex
	events []evenkeel.Event // the newest first
	since  map[string]time.Time
}

func newHistory() *history { return &history{since: map[string]time.Time{}} }

func (h *history) add(e evenkeel.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = slices.Insert(h.events, 0, e)
	h.events = h.events[:min(len(h.events), kept)]
	if e.Kind != evenkeel.EventState {
		return
	}
	if e.To == evenkeel.StateRemoved {
		delete(h.since, nameOf(e.Backend))
		return
	}
	h.since[nameOf(e.Backend)] = e.At
}

func (h *history) last() []evenkeel.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *history) sinceOf(name string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since[name]
}
