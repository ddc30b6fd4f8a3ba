package evenkeel

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// State is where a backend stands.
type State int

// The states.
const (
	StateRemoved          State = iota // not a member
	StateIn                            // picked, at full share
	StateSlowStart                     // picked, at a share that is still rising
	StateOnTrial                       // ejected by outcome, its time is up: one lease tries it
	StateEjectedByOutcome              // out until its time is up
	StateEjectedByHealth               // out until a health check finds it up
	StateEjectedByHand                 // out until Restore
	StateDrained                       // its weight is 0
)

var stateNames = [...]string{"removed", "in", "slow start", "on trial", "ejected by outcome", "ejected by health", "ejected by hand", "drained"}

// String names the state.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// state is the one of several that says most: by hand before drained before
// health before outcome.
func (m *member[T]) state() State {
	switch {
	case m.removed:
		return StateRemoved
	case m.byHand:
		return StateEjectedByHand
	case m.weight == 0:
		return StateDrained
	case m.down:
		return StateEjectedByHealth
	case m.phase == phaseOut:
		return StateEjectedByOutcome
	case m.phase != phaseIn:
		return StateOnTrial
	case m.ramp.step < rampSteps:
		return StateSlowStart
	}
	return StateIn
}

// why is the cause of an ejection, nil while the member is in.
func (m *member[T]) why() error {
	switch m.state() {
	case StateEjectedByHealth:
		return m.downErr
	case StateEjectedByOutcome, StateOnTrial:
		return m.reason
	}
	return nil
}

// Event is one change of one backend's state.
type Event struct {
	Backend  any // of the pool's type
	From, To State
	At       time.Time // by Config.Now
	Until    time.Time // StateEjectedByOutcome: when its time is up; else zero
	Cause    error     // of an ejection by outcome or health; else nil
}

// eventQueue holds events until they can be told outside the lock.
type eventQueue struct {
	pending atomic.Bool
	events  []Event    // guarded by Pool.mu
	telling sync.Mutex // held by the one goroutine that calls OnEvent
}

// noteState queues an event if the member's state is another than was told last.
// The caller holds p.mu.
func (m *member[T]) noteState(p *Pool[T], now time.Duration) {
	to := m.state()
	if from := m.told; from != to && p.cfg.OnEvent != nil && p.snap.Load() != nil { // NewPool's own are no news
		e := Event{Backend: m.backend, From: from, To: to, At: p.start.Add(now), Cause: m.why()}
		if to == StateEjectedByOutcome {
			e.Until = p.start.Add(m.until)
		}
		p.news.events = append(p.news.events, e)
		p.news.pending.Store(true)
	}
	m.told = to
}

// deliver tells the queued events, in order. If another goroutine is telling, or
// OnEvent itself got here, those events are left to that call.
func (p *Pool[T]) deliver() {
	for p.news.pending.Load() && p.news.telling.TryLock() {
		p.tellAll()
	}
}

func (p *Pool[T]) tellAll() {
	defer p.news.telling.Unlock() // also if OnEvent panics
	for {
		e, any := p.nextEvent()
		if !any {
			return
		}
		p.cfg.OnEvent(e)
	}
}

func (p *Pool[T]) nextEvent() (e Event, any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.news.events) == 0 {
		p.news.pending.Store(false)
		p.news.events = nil
		return e, false
	}
	e = p.news.events[0]
	p.news.events = p.news.events[1:]
	return e, true
}
