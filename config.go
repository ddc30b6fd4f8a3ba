package evenkeel

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/window"
)

// maxConsecutive bounds Ejection.Consecutive, whose failures are remembered one by one.
const maxConsecutive = 1000

// Config is how a pool behaves. The zero value is the recommended set-up; a value out of
// range is refused by NewPool with an error that names the field.
type Config struct {
	// Name is the pool's name in events, errors and statistics, such as that of the
	// service. It may be empty.
	Name string

	// MaxInFlight is the most leases open at once on one backend, times its
	// weight (rounded down, at least 1). 0: no limit, and nothing ever waits.
	MaxInFlight int

	// Backlog is how many calls may wait while every backend is at its limit. 0:
	// none waits, and Lease fails at once with ErrOverloaded. It needs a
	// MaxInFlight.
	Backlog int

	// MaxWait is the longest a call waits in the backlog before it fails with
	// ErrOverloaded. 0: as long as its context allows.
	MaxWait time.Duration

	// ControlledDelay keeps the backlog from serving only calls that have waited
	// too long to matter. Its zero value is off.
	ControlledDelay ControlledDelay

	// Ejection takes backends out by how their calls end. On by default.
	Ejection Ejection

	// SlowStart gives a backend that is new or back a small share at first. On by
	// default.
	SlowStart SlowStart

	// Slowness makes the load of a backend that answers more slowly than the others that
	// much larger. On by default.
	Slowness Slowness

	// PanicShare: when in every tier health checks have taken more than this share of the
	// members that are not ejected by hand, the checks are no longer believed. All of
	// those members are used again, also those that outcomes have ejected; one that has
	// something held against it gets a tenth of its share until a call on it ends well. 0:
	// 0.5. 1: only when the checks have taken all.
	PanicShare float64

	// Outcome says how a lease ended, in place of DefaultOutcome. It is given the
	// context that the lease was made with and the error that Done was given, nil
	// included. It may be called from many goroutines at once. A result that is
	// none of the Outcome constants is taken for OutcomeFailure.
	Outcome func(ctx context.Context, err error) Outcome

	// OnEvent is called for every event, in order, one at a time, outside every lock
	// and never within a pick: a change that a pick notices is delivered at the next end
	// of a lease, change of the pool, or call of All. OnEvent may call any method of the
	// pool. It runs on the goroutine that caused or delivers the event, so it should
	// return soon. Pool.Observe adds further observers.
	OnEvent func(Event)

	// Hash makes View.Hash and is given a backend of the pool's type. It must give the
	// same on every machine. nil: a hash of the backend if it is a string or an
	// integer, or of its text if it is an encoding.TextMarshaler or a fmt.Stringer.
	Hash func(backend any) uint64

	// Now is the clock, for tests and simulations; it must not go backwards. nil:
	// time.Now. Calls that wait in the backlog then set no timers: that their
	// MaxWait is over, or an ejection, is seen when a place is freed or the pool
	// changes.
	Now func() time.Time

	// Seed fixes the pool's own random choices (the jitter of ejection times), so
	// that a run can be repeated. 0: different in every process.
	Seed uint64
}

// Ejection says when a backend is taken out because of how its calls ended, and
// for how long. The zero value is the recommended set-up.
//
// Two rules eject, and both compare the backend with the others at the same time.
// Consecutive failures: so many calls in a row have failed, ordered by when they began,
// and chance does not explain that by the others' failure rate. Failure rate: over a
// sliding window the backend fails more often than the others together, by a margin that
// chance explains in one case of ten million (Fisher's exact test). After its time is up
// the backend is given one lease on trial: a success, or 30 s without a failure, lets it
// in; a failure ejects it again, for longer if the others have done better. An ejection
// after which the others fail as often is taken back.
type Ejection struct {
	// Off turns ejection by outcome off. By hand and by health it still works.
	Off bool

	// Consecutive is how many failures in a row eject, where the others do not fail, or
	// are not called. 0: 5. Negative: the rule is off. Where the others fail with
	// probability r, a run of k ejects only if it is improbable under r. Calls past the
	// caller's deadline make a run too, if the others have answered as many meanwhile.
	Consecutive int

	// Window is the length of the sliding window of the failure-rate rule, kept
	// in ten buckets. 0: 10 s. Negative: the rule is off.
	Window time.Duration

	// MinFailures is how many failures within the window a backend must have before its
	// rate is judged, at least 3: fewer prove nothing. 0: 5.
	MinFailures int

	// Tolerance is the failure rate that is not worth an ejection however well
	// the others do, from 0 to 1. 0: 0.02.
	Tolerance float64

	// Base is the length of a first ejection. Each relapse adds another Base, up
	// to Max; each stretch of 6 Base without an ejection takes one off again. 0:
	// 5 s and 5 min.
	Base, Max time.Duration

	// Jitter is the share of an ejection's length, from 0 to 1, that is cut off
	// at random so that many balancers do not return to a backend at one moment.
	// 0: 0.1. Negative: none.
	Jitter float64

	// MaxEjected is the largest share of the members of one tier (those not drained and
	// not ejected by hand) that outcomes may eject, from 0 to 1, rounded down and tested
	// after the ejection it would make; the last usable one is never ejected. A tier may
	// lose all its members while another one can carry the calls. A member that would be
	// ejected but for this gets a tenth of its share until a call on it ends well. 0: 0.5.
	MaxEjected float64

	// TrialTimeout is how long a trial may last: if it has not failed by then, that counts
	// for the backend, since long calls are no bad sign. 0: 30 s.
	TrialTimeout time.Duration
}

// SlowStart says how a backend that is new or back gets its full share of calls
// step by step: both time and successes are needed for a step, so that a backend
// with little traffic does not jump. Members are not held back when all are new.
type SlowStart struct {
	// Off gives newcomers their full share at once.
	Off bool

	// Window is the least time from the first share to the full one. 0: 10 s.
	Window time.Duration

	// Successes is the number of calls that must have ended without a failure
	// before the full share is reached. 0: 50.
	Successes int

	// Floor is the first share, above 0 and at most 1. 0: 0.1.
	Floor float64
}

// Slowness says whether loads take into account how slow a backend is. The zero value is
// the recommended set-up.
//
// A call now and then is timed. A backend whose calls take at least twice as long as the
// median backend's, in relation to what each has in flight, is given a slowness of 2, 4, 8
// and so on: its load is then (load + 1) times that, less 1. What a server reports of its
// own service time goes before what is measured here. A slowness fades, so that the
// backend is tried again.
type Slowness struct {
	// Off leaves slowness out of the loads, reported service times too.
	Off bool
}

// ControlledDelay sheds load by how long calls have waited, after CoDel (Nichols
// and Jacobson, "Controlling queue delay", 2012): once every call that left the
// backlog for a whole Interval had waited longer than Target, the newest call is
// served first, and the oldest is shed at moments that come faster and faster
// (Interval divided by the root of their number), until waits are below Target
// again.
type ControlledDelay struct {
	// Target is the wait that is acceptable in the long run. 0: off.
	Target time.Duration

	// Interval is how long waits must stay above Target before anything is done.
	// 0: 100 ms, if Target is set.
	Interval time.Duration
}

func orDefault[V int | float64 | time.Duration](v *V, def V) {
	if *v == 0 {
		*v = def
	}
}

// withDefaults checks every field, in their order, and fills in what is left 0. The
// error is about the first field that is bad.
func (c Config) withDefaults() (Config, error) {
	if err := c.check(); err != nil {
		return c, err
	}
	e, s := &c.Ejection, &c.SlowStart
	orDefault(&c.ControlledDelay.Interval, 100*time.Millisecond)
	orDefault(&c.PanicShare, 0.5)
	orDefault(&e.Consecutive, 5)
	orDefault(&e.Window, 10*time.Second)
	orDefault(&e.MinFailures, 5)
	orDefault(&e.Tolerance, 0.02)
	orDefault(&e.Base, 5*time.Second)
	orDefault(&e.Max, max(5*time.Minute, e.Base))
	orDefault(&e.Jitter, 0.1)
	e.Jitter = max(e.Jitter, 0)
	orDefault(&e.MaxEjected, 0.5)
	orDefault(&e.TrialTimeout, 30*time.Second)
	orDefault(&s.Window, 10*time.Second)
	orDefault(&s.Successes, 50)
	orDefault(&s.Floor, 0.1)
	if e.Max < e.Base {
		return c, badConfig("Ejection.Max", "%v is below Base, %v", e.Max, e.Base)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// check finds the first field that is out of its range.
func (c *Config) check() error {
	e, s, d := &c.Ejection, &c.SlowStart, &c.ControlledDelay
	return cmp.Or(
		atLeast0("MaxInFlight", c.MaxInFlight),
		atMost("MaxInFlight", c.MaxInFlight, math.MaxInt32),
		atLeast0("Backlog", c.Backlog),
		needs("Backlog", c.Backlog > 0, c.MaxInFlight > 0, "MaxInFlight: nothing ever waits"),
		atLeast0("MaxWait", c.MaxWait),
		needs("MaxWait", c.MaxWait > 0, c.Backlog > 0, "a Backlog: nothing ever waits"),
		atLeast0("ControlledDelay.Target", d.Target),
		needs("ControlledDelay.Target", d.Target > 0, c.Backlog > 0, "a Backlog: nothing ever waits"),
		atLeast0("ControlledDelay.Interval", d.Interval),
		needs("ControlledDelay.Interval", d.Interval > 0, d.Target > 0, "a Target"),
		atMost("Ejection.Consecutive", e.Consecutive, maxConsecutive),
		atLeast("Ejection.Window", e.Window, window.Buckets, e.Window > 0),
		atLeast0("Ejection.MinFailures", e.MinFailures),
		atLeastInt("Ejection.MinFailures", e.MinFailures, 3),
		aShare("Ejection.Tolerance", e.Tolerance),
		atLeast0("Ejection.Base", e.Base),
		atLeast0("Ejection.Max", e.Max),
		aShare("Ejection.Jitter", orNone(e.Jitter)),
		aShare("Ejection.MaxEjected", e.MaxEjected),
		atLeast0("Ejection.TrialTimeout", e.TrialTimeout),
		atLeast0("SlowStart.Window", s.Window),
		atLeast0("SlowStart.Successes", s.Successes),
		aShare("SlowStart.Floor", s.Floor),
		aShare("PanicShare", c.PanicShare),
	)
}

// orNone is 0 for a negative number, which stands for none.
func orNone(v float64) float64 {
	if v < 0 && !math.IsInf(v, 0) {
		return 0
	}
	return v
}

func aShare(field string, v float64) error {
	if v >= 0 && v <= 1 {
		return nil
	}
	return badConfig(field, "%v is not within 0 to 1", v) // NaN too
}

func atLeast0[V int | time.Duration](field string, v V) error {
	if v >= 0 {
		return nil
	}
	return badConfig(field, "%v is negative", v)
}

func atLeast(field string, v, least time.Duration, given bool) error {
	if !given || v >= least {
		return nil
	}
	return badConfig(field, "%v is below %v", v, least)
}

// atLeastInt is about a field whose 0 is its default.
func atLeastInt(field string, v, least int) error {
	if v == 0 || v >= least {
		return nil
	}
	return badConfig(field, "%d is below %d", v, least)
}

func atMost(field string, v, most int) error {
	if v <= most {
		return nil
	}
	return badConfig(field, "%d is above %d", v, most)
}

func needs(field string, set, there bool, what string) error {
	if !set || there {
		return nil
	}
	return badConfig(field, "it has no effect without %s", what)
}

// windowOf is the time over which calls are counted, also where the rate rule is off.
func windowOf(c *Config) time.Duration {
	if c.Ejection.Window > 0 {
		return c.Ejection.Window
	}
	return 10 * time.Second
}
