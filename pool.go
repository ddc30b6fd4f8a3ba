package evenkeel

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// A Pool holds the backends behind one name: who is a member, with what weight,
// who is ejected, and how many calls each has in flight. Balancers pick from it.
// Make one with NewPool; the zero Pool has no members and refuses changes.
//
// Changes are made under a lock on the side and published as a whole, so a pick
// reads one consistent set without a lock. When a method that changes the pool
// has returned, no later pick uses what it took out.
type Pool[T comparable] struct {
	snap     atomic.Pointer[snapshot[T]]
	debtors  atomic.Pointer[[]*slot] // those with failed calls on their books; nil: none
	cfg      Config
	start    time.Time // the clock's zero
	ownClock bool      // Config.Now was given
	jitter   draw.Source

	mu      sync.Mutex // guards what follows, and every member's standing
	members []*member[T]
	index   map[T]*member[T] // the members, and those that have left but may return as themselves
	signal  func(backend T, inFlight int) float64
	overall overall // how calls ended on all members together
	news    eventQueue

	line line[T] // who waits for a place
}

// member is one backend of one pool, from the time it is added until it has been
// removed and its last lease has ended.
type member[T comparable] struct {
	*slot
	backend T
	pool    *Pool[T]
	id      uint64
	standing
}

// standing is what a pool knows of a member besides its counts. Guarded by
// Pool.mu.
type standing struct {
	weight    float64
	removed   bool
	removedAt time.Duration
	byHand    bool  // ejected by hand
	down      bool  // ejected by health checks
	downErr   error // what the last check said
	used      bool  // in the current snapshot
	record
	ramp
}

// Weighted is a backend with its weight, for ReplaceWeighted. A weight of 0
// drains it.
type Weighted[T comparable] struct {
	Backend T
	Weight  float64
}

// NewPool returns a pool of the given backends, each with weight 1. No backends
// at all is fine: Lease fails with ErrNoBackends until Replace brings some. The
// error matches ErrBadConfig, ErrDuplicate or ErrBadBackend.
func NewPool[T comparable](cfg Config, backends ...T) (*Pool[T], error) {
	ownClock := cfg.Now != nil
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Pool[T]{cfg: cfg, ownClock: ownClock, start: cfg.Now(), jitter: draw.NewSource(cfg.Seed), index: map[T]*member[T]{}}
	p.line.init()
	if err := p.Replace(backends...); err != nil {
		return nil, err
	}
	return p, nil
}

// elapsed is the pool's clock: the time since it was made.
func (p *Pool[T]) elapsed() time.Duration { return max(p.cfg.Now().Sub(p.start), 0) }

// later is at+d, or the end of time.
func later(at, d time.Duration) time.Duration { return at + min(d, math.MaxInt64-at) }

// Replace makes the backends the pool's members, in this order. Those that were
// members already keep everything: counts, weight, statistics, ejection. Those
// that are new get weight 1. Those that are left out get no new leases; the open
// ones stay valid. One that comes back while such a lease is open, or before its
// ejection would have ended (by health checks: within 5 minutes), is the same
// backend still; one that comes back later is new.
//
// An empty Replace is obeyed. If the error matches ErrDuplicate or ErrBadBackend
// nothing has changed.
func (p *Pool[T]) Replace(backends ...T) error {
	list := make([]Weighted[T], len(backends))
	for i, b := range backends {
		list[i] = Weighted[T]{b, math.NaN()} // keep, or 1
	}
	return p.replace(list)
}

// ReplaceWeighted is Replace with the weight of each member. The error can also
// match ErrBadWeight; nothing has changed then either.
func (p *Pool[T]) ReplaceWeighted(backends ...Weighted[T]) error {
	for _, b := range backends {
		if err := checkWeight(b.Backend, b.Weight); err != nil {
			return err
		}
	}
	return p.replace(backends)
}

func checkWeight[T comparable](b T, w float64) error {
	if !(w >= 0) || math.IsInf(w, 0) {
		return fmt.Errorf("%w: %v for backend %v; it must be 0 (drain) or a positive number", ErrBadWeight, w, b)
	}
	return nil
}

func (p *Pool[T]) replace(list []Weighted[T]) error {
	seen := make(map[T]struct{}, len(list))
	for _, b := range list {
		if !hashable(b.Backend) {
			return fmt.Errorf("%w: %v cannot be compared", ErrBadBackend, b.Backend)
		}
		if b.Backend != b.Backend {
			return fmt.Errorf("%w: %v does not equal itself", ErrBadBackend, b.Backend)
		}
		if _, twice := seen[b.Backend]; twice {
			return fmt.Errorf("%w: %v stands twice; nothing was changed", ErrDuplicate, b.Backend)
		}
		seen[b.Backend] = struct{}{}
	}
	return p.change(func(now time.Duration) (bool, error) {
		if p.isSame(list) {
			return false, nil
		}
		for b := range seen { // back too late to be themselves: new ones
			if m, ok := p.index[b]; ok && m.removed && !m.bound(now) {
				delete(p.index, b)
			}
		}
		for _, m := range p.members {
			if _, stays := seen[m.backend]; !stays {
				m.removed, m.used, m.removedAt = true, false, now
				p.forgive(m)
				m.noteState(p, now)
			}
		}
		stayed := len(p.members) > 0
		p.members = make([]*member[T], 0, len(list))
		slots := newSlots(len(list) - len(p.index))
		var fresh []*member[T]
		for _, b := range list {
			m, known := p.index[b.Backend]
			if !known {
				m = p.newMember(b.Backend, slots())
				fresh = append(fresh, m)
			}
			m.removed = false
			if !math.IsNaN(b.Weight) {
				m.weight = b.Weight
			}
			p.members = append(p.members, m)
		}
		if stayed {
			p.startSlowly(fresh...)
		}
		return true, nil
	})
}

// isSame reports whether the list is what the members are already.
func (p *Pool[T]) isSame(list []Weighted[T]) bool {
	return p.snap.Load() != nil && slices.EqualFunc(p.members, list, func(m *member[T], b Weighted[T]) bool {
		return m.backend == b.Backend && (math.IsNaN(b.Weight) || m.weight == b.Weight)
	})
}

// sweep forgets removed backends that nothing binds any more. It comes after the
// publication: until then a pick may still have counted a lease on one, and the
// lease would be lost to a backend that returns. The caller holds p.mu.
func (p *Pool[T]) sweep(now time.Duration) {
	if len(p.index) == len(p.members) {
		return
	}
	for b, m := range p.index {
		if m.removed && !m.bound(now) {
			delete(p.index, b)
		}
	}
}

// downLife is how long a removed backend is remembered as found down by health
// checks: nobody may check it any more, and addresses may never come back.
const downLife = 5 * time.Minute

// bound reports whether a removed backend that comes back now is the same one
// still: leases on it are open, or an ejection lasts.
func (m *member[T]) bound(now time.Duration) bool {
	return m.inFlight() > 0 || m.byHand || m.isOut(now) || m.down && now-m.removedAt < downLife
}

// lastID numbers the members and versions of all pools of the process.
var lastID atomic.Uint64

func (p *Pool[T]) newMember(b T, s *slot) *member[T] {
	m := &member[T]{slot: s, backend: b, pool: p, id: lastID.Add(1)}
	m.weight = 1
	m.ramp.step = rampSteps
	m.word.Store(oneStart) // so that it is not 0: see Load
	if !p.cfg.Ejection.Off {
		m.attend.Or(attendSuccess)
		m.window.reset(0, p.elapsed())
	}
	if p.cfg.Outcome != nil {
		m.attend.Or(attendOutcome)
	}
	if p.cfg.MaxInFlight > 0 {
		m.attend.Or(attendLimit)
	}
	p.index[b] = m
	return m
}

// change runs f under the lock and, if it says that it has changed something,
// publishes the result, and then, outside the lock, wakes those who wait and
// delivers the events. If f returns an error it must have changed nothing.
func (p *Pool[T]) change(f func(now time.Duration) (changed bool, err error)) error {
	if p.index == nil {
		return errZeroPool
	}
	changed, err := p.locked(f)
	if changed {
		p.line.rush(p)
		p.deliver()
	}
	return err
}

func (p *Pool[T]) locked(f func(now time.Duration) (changed bool, err error)) (changed bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.elapsed()
	if changed, err = f(now); changed {
		p.publish()
		p.sweep(now)
	}
	return changed, err
}

// find returns a backend's member; removed ones count only if orGone.
func (p *Pool[T]) find(b T, orGone bool) (*member[T], error) {
	if hashable(b) {
		if m, ok := p.index[b]; ok && (orGone || !m.removed) {
			return m, nil
		}
	}
	return nil, unknown(b)
}

// hashable reports whether b may be the key of a map: what an interface holds, in
// T or within it, need not be.
func hashable[T comparable](b T) bool { return reflect.ValueOf(&b).Elem().Comparable() }

// SetWeight changes the weight of one member at once, without slow start: 0 drains
// it (no new leases, the open ones finish). The error matches ErrBadWeight or ErrUnknownBackend.
func (p *Pool[T]) SetWeight(b T, weight float64) error {
	if err := checkWeight(b, weight); err != nil {
		return err
	}
	return p.change(func(time.Duration) (bool, error) {
		m, err := p.find(b, false)
		if err != nil || m.weight == weight {
			return false, err
		}
		m.weight = weight
		return true, nil
	})
}

// SetLoad makes signal the load that policies compare, in place of the number of
// calls in flight, from the next pick on; nil restores that. It is called for
// every look at a backend, from many goroutines at once, and must be fast. Its
// value is in whatever unit the caller likes, 0 for idle; failures still on the
// books are added and the weight divides it as always. A value above MaxLoad is
// cut to it; one that is negative or NaN counts as MaxLoad, so that a broken
// signal draws no traffic, and Stats.BadSignals counts it. It must not call
// methods of the pool.
func (p *Pool[T]) SetLoad(signal func(backend T, inFlight int) float64) {
	_ = p.change(func(time.Duration) (bool, error) {
		p.signal = signal
		return true, nil
	})
}

// Eject takes a backend out by hand until Restore brings it back, whatever
// outcomes and health checks say. Open leases stay valid. If all members are
// ejected by hand, Lease fails with ErrNoBackends. Ejecting twice is harmless. One
// that is removed while it is ejected is remembered until Restore, so that its
// return heals nothing. The error matches ErrUnknownBackend.
func (p *Pool[T]) Eject(b T) error {
	return p.change(func(time.Duration) (bool, error) {
		m, err := p.find(b, true)
		if err != nil || m.byHand {
			return false, err
		}
		m.byHand = true
		m.newEra()
		p.forgive(m)
		return true, nil
	})
}

// Restore brings a backend back at once, whether it was ejected by hand, by
// outcomes or by health checks (until the next check says otherwise), with its
// record wiped clean, at full share. Restoring one that is in is harmless. The
// error matches ErrUnknownBackend.
func (p *Pool[T]) Restore(b T) error {
	return p.change(func(time.Duration) (bool, error) {
		m, err := p.find(b, true)
		if err != nil || m.state() == StateIn {
			return false, err
		}
		m.byHand, m.down, m.downErr = false, false, nil
		m.wipe()
		m.newEra()
		m.ramp.step = rampSteps
		m.attend.And(^attendState)
		return true, nil
	})
}

// SetHealth records what a health check found: up or, with the reason, down. A
// backend that is down is out until a check finds it up, unless the checks have
// taken more than Config.PanicShare of the pool. It does not undo an ejection by
// hand or by outcome. It is for checks that run beside the calls, such as package
// health. The error matches ErrUnknownBackend.
func (p *Pool[T]) SetHealth(b T, up bool, reason error) error {
	return p.change(func(time.Duration) (bool, error) {
		m, err := p.find(b, true)
		if err != nil {
			return false, err
		}
		if !up {
			m.downErr = reason
		}
		if m.down == !up {
			return false, nil
		}
		m.down = !up
		m.newEra()
		if up {
			m.downErr = nil
			p.startSlowly(m)
		} else {
			p.forgive(m)
		}
		return true, nil
	})
}

// InFlight returns the number of calls in flight on a backend: leases that have
// not ended. It is 0 for a backend that the pool does not know; one that was
// removed is known while leases on it are open.
func (p *Pool[T]) InFlight(b T) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m, err := p.find(b, true); err == nil {
		return m.inFlight()
	}
	return 0
}

// Len returns the number of members, ejected and drained ones included.
func (p *Pool[T]) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.members)
}

// All yields every member with its statistics, in the order of the last Replace.
// The membership and states are those of one moment, the call of All's result;
// the loop may change the pool.
func (p *Pool[T]) All() iter.Seq2[T, Stats] {
	return func(yield func(T, Stats) bool) {
		p.yieldStats(yield, func() []*member[T] { return p.members })
	}
}

// Leaving yields the backends that were removed while leases on them were open
// and still are, in no particular order.
func (p *Pool[T]) Leaving() iter.Seq2[T, Stats] {
	return func(yield func(T, Stats) bool) {
		p.yieldStats(yield, func() []*member[T] {
			var leaving []*member[T]
			for m := range maps.Values(p.index) {
				if m.removed && m.inFlight() > 0 {
					leaving = append(leaving, m)
				}
			}
			return leaving
		})
	}
}

func (p *Pool[T]) yieldStats(yield func(T, Stats) bool, members func() []*member[T]) {
	s := p.snap.Load()
	if s == nil {
		return // the zero Pool
	}
	p.upToDate(s)
	p.deliver()
	p.mu.Lock()
	list := members()
	stats := make([]Stats, len(list))
	for i, m := range list {
		stats[i] = p.stats(m)
	}
	backends := make([]T, len(list))
	for i, m := range list {
		backends[i] = m.backend
	}
	p.mu.Unlock()
	for i, b := range backends {
		if !yield(b, stats[i]) {
			return
		}
	}
}
