package evenkeel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
	"github.com/evenkeel-go/evenkeel/internal/window"
)

// This file holds the data that the rest of the package works on: what a pool is, what
// a member is, and what stands between them, without behaviour but for the clock.

// A Pool holds the backends behind one name: who is a member, with what weight and in
// which tier, who is ejected, and how many calls each has in flight. Balancers pick
// from it. Make one with NewPool; the zero Pool has no members and refuses changes.
//
// Changes are made under a lock on the side, so a pick reads one consistent set without
// a lock. When a method that changes the pool has returned, no later pick uses what the
// change took out. What it brought in, and a weight that it changed, is used at once in
// a pool of up to 64 members; in a larger one after as many picks as the pool has
// members at the latest, so that many changes cost in proportion to the pool and not to
// its square.
type Pool[T comparable] struct {
	snap       atomic.Pointer[snapshot[T]]
	due        atomic.Int64  // when the next change by time is due, as time since start; 0: none
	offered    atomic.Int32  // members that wait for a lease to be their trial, or a few more
	ends       atomic.Uint64 // ends of calls that pay for failed ones, counted while any is on the books
	payAt      atomic.Uint64 // the value of ends that pays for the next one; 0: none is on the books
	atEnd      atomic.Uint32 // what every end of a lease does beyond counting down (see atEnd*)
	clearAt    atomic.Int64  // when penalties are looked at for their age
	overloaded atomic.Bool   // the last call that was refused or found a place was refused
	hooks      atomic.Pointer[[]*LeaseHooks[T]]

	beliefs beliefs

	cfg      Config
	start    time.Time // the clock's zero
	ownClock bool      // Config.Now was given
	chance   draw.Source

	mu         sync.Mutex // guards what follows, and every member's standing
	members    []*member[T]
	index      map[T]*member[T] // the members, and those that have left but may return as themselves
	tiers      []*tier          // by number
	signal     func(backend T) func(inFlight int) float64
	alarms     alarms[T]
	trials     []*member[T] // offered, oldest first; may hold some that are no more
	owing      alarms[T]    // those with failed calls on their books, by the value of ends that pays
	mode       mode
	checkers   int           // health checkers that are at work
	membership uint64        // counts the changes of members
	reviewAt   time.Duration // when ejections may be reviewed again
	pending    int           // changes that the snapshot does not show
	founders   []*member[T]  // those of the first Replace, until another member starts slowly
	foundedAt  time.Duration
	overall    overall
	news       eventQueue
	observers  []*observer  // never changed in place
	gone       []*member[T] // removed and remembered, in the order in which they left

	backlog backlog[T] // who waits for a place
}

// A member is one backend of one pool, from the time it is added until it has been
// removed and its last lease has ended.
type member[T comparable] struct {
	*slot   // first, with what every call reads: one cache line
	pool    *Pool[T]
	backend T
	*ledger
	identity
	standing
}

// standing is what a pool knows of a member besides its counts. Guarded by Pool.mu.
type standing struct {
	weight    float64
	tier      *tier
	removed   bool
	removedAt time.Duration
	pausedTo  time.Duration // 0: it is not paused
	unchecked bool          // new: health checks have not found it up yet
	doubted   bool          // in rotation in spite of what is held against it, until a call ends well
	byHand    bool          // ejected by hand
	down      bool          // ejected by health checks
	downErr   error         // what the last check said
	servedTo  time.Duration // when it was last in rotation although health checks had found it down
	used      bool          // in rotation
	queued    bool          // in Pool.trials
	counted   class         // as which one its tier counts it
	alarm     time.Duration // when it is looked at again; 0: never
	signal    func(inFlight int) float64
	lastState State // the state that the last event gave
	record
	ramp
}

// A class is what a member is to its tier.
type class uint8

const (
	classGone      class = iota // no member
	classByHand                 // ejected by hand
	classDrained                // weight 0
	classDown                   // ejected by health checks
	classOut                    // ejected by outcome
	classPaused                 // asked not to be called for a while
	classUnchecked              // new, and not found up by a health check yet
	classSound                  // nothing is held against it
	classes
)

// A tier is the members of one Member.Tier, counted by class.
type tier struct {
	number int
	count  [classes]int
}

// A mode is what rules besides a member's own state decide who is in rotation.
type mode struct {
	panics bool // health checks took too many: they are not believed
	all    bool // every usable member is in rotation
	busy   bool // paused members are in rotation: all that are well ask for a pause
	over   int  // members ejected by outcome beyond what Ejection.MaxEjected allows
}

// A phase is where a member stands with ejection by outcome.
type phase uint8

const (
	phaseIn      phase = iota
	phaseOut           // until its time is up
	phaseOffered       // its time is up: the next lease is its trial
	phaseTried         // the trial is under way
)

// record is what outcomes have shown of a member. Guarded by Pool.mu.
type record struct {
	phase    phase
	until    time.Duration // phaseOut: when its time is up
	level    int           // the last ejection's length, in units of Base
	times    int           // ejections by outcome, ever
	backAt   time.Duration // when it was let in last
	trial    uint64        // phaseTried: the start number of the trial
	trialAt  time.Duration // phaseTried: when it began
	run      []miss        // the latest failures in a row, at most maxRun
	beside   tally         // how the others stood when the run began
	runGood  uint64        // its own successes then
	rate     float64       // when it was ejected: the share of its calls that failed
	others   tally         // and how the others stood
	window   window.Window
	eraAt    time.Duration // when its record began
	good     uint64        // the successes that the window has seen
	part     [2]float64    // what it added to Pool.overall: successes, failures
	reason   error         // why it was ejected last
	lastErr  error         // the last failure
	failedAt time.Duration // when it came
	failures uint64        // failures and deadlines, ever
	payAt    uint64        // the value of Pool.ends that pays for its next failed call
}

// A miss is a call that failed, or that did not end before the caller's deadline.
type miss struct {
	start    uint64
	deadline bool
}

// A tally is how calls had ended on a part of the other members at one moment.
type tally struct {
	membership uint64 // of Pool.membership then
	from       int    // the first of the members that were asked
	good, bad  uint64
}

// overall is how calls ended on all members together, kept for a moment: in a large
// pool that fails as a whole every failure asks for it.
type overall struct {
	at        time.Duration
	good, bad float64
	valid     bool
}

// A snapshot is what picks read: one state of the pool, published as a whole.
type snapshot[T comparable] struct {
	group[T]              // the lowest tier in use
	spill    []*group[T]  // the further tiers in use
	standby  []*group[T]  // the tiers that get calls only when those before have no backend or place left
	calm     atomic.Bool  // nothing but the policy has a say in a lease
	renew    atomic.Int64 // picks until it is made anew; 0: it shows the pool as it is
	none     *NoBackendsError
	panics   bool
}

// A group is the part of one tier that is in rotation.
type group[T comparable] struct {
	candidates
	in   []*member[T] // beside candidates.slots
	part float64      // of the tier's weight that is in rotation
	upTo float64      // a draw below this takes this group, or one before it
}

// An alarms is a heap of members by the time, or another number, at which they are
// looked at. A member may stand in it more than once; what counts is what the member
// itself says.
type alarms[T comparable] []alarm[T]

type alarm[T comparable] struct {
	at uint64
	m  *member[T]
}

// eventQueue holds events until they can be given outside the lock.
type eventQueue struct {
	events []Event    // guarded by Pool.mu
	giving sync.Mutex // held by the one goroutine that calls the observers
}

// What every end of a lease does, as bits of Pool.atEnd. They change under Pool.mu.
const (
	atEndPay     uint32 = 1 << iota // failed calls are on the books: it pays for them
	atEndDeliver                    // events are queued
)

type observer struct{ f func(Event) }

// backlog is the calls that wait because every backend is at its limit. A freed place
// goes to the oldest that may use it, handed over by the goroutine that freed it; a call
// that comes while others wait queues up behind them, unless they wait for some backends
// only and another is free.
type backlog[T comparable] struct {
	waiting atomic.Int64 // read without the lock by those who come and go

	mu                   sync.Mutex  // taken before Pool.mu where both are needed
	queues               []*queue[T] // the first one: those that may use any backend
	number               uint64      // calls that have queued up, ever
	served, shed, gaveUp uint64
	delay                delayState
}

// A queue is the calls that must avoid the same backends, oldest first.
type queue[T comparable] struct {
	head  waiter[T] // of a ring; its next is the oldest
	avoid []T
	size  int
}

// A waiter is one call that waits. Guarded by backlog.mu, but for ready.
type waiter[T comparable] struct {
	prev, next *waiter[T]
	in         *queue[T]
	number     uint64        // who came first
	ready      chan struct{} // says: look at what has become of you
	by         *chooser
	ctx        context.Context
	call       *Call[T] // nil: it has no particulars
	since      time.Duration
	got        *member[T]
	start      uint32
	fate       fate
	safe       bool // no panic has passed since the lock was taken
}

type fate uint8

const (
	fateWaits  fate = iota
	fateServed      // got and start are its lease
	fateNobody      // nobody is left to wait for
	fateGaveUp      // its context ended
	fateMaxWait
	fateDelay
)

// delayState is where the controlled-delay rule stands.
type delayState struct {
	above    time.Duration // waits have been above the target since; 0: they are not
	dropping bool
	drops    int
	next     time.Duration // when the next one is shed
}

// elapsed is the pool's clock: the time since it was made.
func (p *Pool[T]) elapsed() time.Duration { return max(p.cfg.Now().Sub(p.start), 0) }
