package health

import (
	"context"
	"time"
)

// target is one backend as the checker sees it. Only the loop touches it.
type target[T comparable] struct {
	backend T
	verdict

	at     time.Time // the next event: a probe is due, or the probe under way is overdue
	pos    int       // in the agenda, or one of the constants below
	phase  phase
	begun  time.Time          // of the latest probe
	cancel context.CancelFunc // of the probe under way

	goneAt time.Time // when the backend left the pool; zero: it is a member
}

// The values of target.pos that are no position in the agenda.
const (
	nowhere = -1
	inLine  = -2 // due, and waiting for a place
)

// A phase says how far a target's probe is.
type phase uint8

const (
	idle   phase = iota // no probe is under way
	asked               // a probe is under way
	hung                // the probe has not ended although its context has: it has failed, and holds no place
	voided              // the backend has left the pool while the probe was under way: its result does not count
)

// verdict is what a backend's probes have led to. The zero verdict is up.
type verdict struct {
	down         bool
	checked      bool // a probe has passed, and the pool knows
	passed, lost int  // in a row; one of them is 0
}

// count adds a probe and reports whether the verdict has changed.
func (v *verdict) count(ok bool, cfg *Config) bool {
	if ok {
		v.passed, v.lost = v.passed+1, 0
	} else {
		v.passed, v.lost = 0, v.lost+1
	}
	if before := v.down; before && v.passed >= cfg.Up || !before && v.lost >= cfg.Down {
		v.down = !before
		return true
	}
	return false
}

// agenda is a heap of targets by when they are due; see container/heap.
type agenda[T comparable] []*target[T]

func (a agenda[T]) Len() int           { return len(a) }
func (a agenda[T]) Less(i, j int) bool { return a[i].at.Before(a[j].at) }

func (a agenda[T]) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].pos, a[j].pos = i, j
}

func (a *agenda[T]) Push(x any) {
	t := x.(*target[T])
	t.pos = len(*a)
	*a = append(*a, t)
}

func (a *agenda[T]) Pop() any {
	last := len(*a) - 1
	t := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	t.pos = nowhere
	return t
}
