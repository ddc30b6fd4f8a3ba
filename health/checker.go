package health

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Config is how often probes are made and what follows from them. The zero value
// is the recommended set-up; a value out of range is refused by Start with an
// error that names the field.
type Config struct {
	// Interval is the longest time from the start of one probe of a backend to
	// the start of its next. A probe that takes longer delays the next one: there
	// is never more than one at a time for a backend. 0: 5 s.
	Interval time.Duration

	// Jitter is the share of Interval, from 0 to 1, that is cut off at random
	// before each probe, so that many programs do not probe at one moment. The
	// first probe of a backend waits for up to this share too. 0: 0.1. Negative:
	// none.
	Jitter float64

	// Timeout is how long one probe may take, from its start to its end, before
	// it has failed. 0: 1 s.
	Timeout time.Duration

	// Down is how many failed probes in a row take a backend out. 0: 3.
	Down int

	// Up is how many passed probes in a row bring it back. 0: 2.
	Up int

	// MaxProbes is how many probes may be under way at once, over all backends of
	// the pool; the rest wait their turn, and waiting counts as nothing. 0: 32.
	MaxProbes int

	// OnResult is told of every probe that has ended, one at a time, in order,
	// outside any lock. No probe's end is noticed while it runs, so it should
	// return soon. nil: nobody is told.
	OnResult func(Result)

	// Seed fixes the jitter, so that a run can be repeated. 0: different in every
	// process.
	Seed uint64
}

// Result is how one probe ended.
type Result struct {
	Backend any           // of the pool's type
	Err     error         // why it failed; nil: it passed
	Start   time.Time     // when it began
	Took    time.Duration // until it ended, or was given up
	Streak  int           // probes in a row, this one included, that ended alike
	Up      bool          // the verdict that now stands
	Changed bool          // this probe has changed the verdict
}

func badConfig(field, format string, args ...any) error {
	return fmt.Errorf("%w: health.%s: %s", evenkeel.ErrBadConfig, field, fmt.Sprintf(format, args...))
}

func (c Config) withDefaults() (Config, error) {
	for _, f := range []struct {
		field string
		bad   bool
		value any
	}{
		{"Interval", c.Interval < 0, c.Interval},
		{"Timeout", c.Timeout < 0, c.Timeout},
		{"Down", c.Down < 0, c.Down},
		{"Up", c.Up < 0, c.Up},
		{"MaxProbes", c.MaxProbes < 0, c.MaxProbes},
	} {
		if f.bad {
			return c, badConfig("Config."+f.field, "%v is negative", f.value)
		}
	}
	switch {
	case c.Jitter < 0:
		c.Jitter = 0
	case c.Jitter == 0:
		c.Jitter = 0.1
	case !(c.Jitter <= 1): // NaN too
		return c, badConfig("Config.Jitter", "%v is not within 0 to 1", c.Jitter)
	}
	if c.Interval == 0 {
		c.Interval = 5 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = time.Second
	}
	if c.Down == 0 {
		c.Down = 3
	}
	if c.Up == 0 {
		c.Up = 2
	}
	if c.MaxProbes == 0 {
		c.MaxProbes = 32
	}
	return c, nil
}

// closeGrace is how long Close waits for probes and callbacks that do not end
// although their context has.
const closeGrace = 500 * time.Millisecond

// A Checker probes the backends of one pool until Close. Make one with Start; the
// zero Checker is one that was closed. Its methods may be called from any
// goroutine.
type Checker struct {
	stop context.CancelFunc
	over chan struct{} // closed when nothing of it runs any more
	left atomic.Pointer[[]string]
}

// Start probes every member of pool from now on, following every change of its
// membership, and tells the pool what it finds (see [evenkeel.Pool.SetHealth]). A
// member that joins is noticed within a second, or within Config.Interval if that
// is shorter. One pool should have one Checker: of two, the last word counts.
//
// The error matches evenkeel.ErrBadConfig or evenkeel.ErrNil; nothing runs then.
func Start[T comparable](pool *evenkeel.Pool[T], probe Probe[T], cfg Config) (*Checker, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: health.Start needs a pool, as NewPool returns it", evenkeel.ErrNil)
	}
	if probe == nil {
		return nil, fmt.Errorf("%w: health.Start needs a probe: an HTTP, a TCP or a Func", evenkeel.ErrNil)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	run, finish, err := probe.prepare()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Checker{stop: stop, over: make(chan struct{})}
	seed := cfg.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	l := &loop[T]{
		cfg: cfg, pool: pool, probe: run, ctx: ctx,
		targets: map[T]*target[T]{},
		ended:   make(chan ended[T]),
		random:  rand.New(rand.NewPCG(seed, 0)),
	}
	go func() {
		defer close(c.over)
		defer finish()
		l.run()
		l.drain(&c.left)
	}()
	return c, nil
}

// Close ends all probes and withdraws the verdicts: with nobody left to find a
// backend up again, those that probes had taken out return to the pool, at a
// small share, and outcomes alone decide. A probe that was under way counts
// neither way. When Close has returned nil nothing of the Checker runs any more
// and nobody will be told anything.
//
// It returns at once, unless a Func does not end although its context has, or it
// is called within OnResult or the pool's OnEvent: then it waits for half a
// second and returns an error that says so; what still runs ends with that
// function. Closing twice is harmless, and says again how it stands.
func (c *Checker) Close() error {
	if c == nil || c.stop == nil {
		return nil
	}
	c.stop()
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-c.over:
		return nil
	case <-grace.C:
	}
	if left := c.left.Load(); left != nil {
		return fmt.Errorf("health: closed, but a probe still runs %v after its context ended, of %s; a Func must obey its context",
			closeGrace, strings.Join(*left, ", "))
	}
	return errors.New("health: closed, but a call of OnResult or OnEvent has not returned; do not call Close within them")
}
