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

// closeGrace is how long Close waits for probes and callbacks that have not ended.
const closeGrace = 500 * time.Millisecond

// A Checker probes the backends of one pool until Close. Make a Checker with
// Start; the zero Checker does nothing, as after Close. Its methods may be called
// from any goroutine.
type Checker struct {
	stop context.CancelFunc
	over chan struct{}            // closed when no goroutine of the Checker runs any more
	left atomic.Pointer[[]string] // the backends whose probes have not ended after Close
}

// Start probes every member of pool from now on and passes what the probes find to
// the pool (see [evenkeel.Pool.SetHealth]). Start follows changes of the
// membership: a member that joins is noticed within a second, or within
// Config.Interval if that is shorter. A pool should have one Checker: where two
// disagree, the latest finding counts.
//
// The error matches evenkeel.ErrBadConfig or evenkeel.ErrBadConfig. After an error
// nothing runs.
func Start[T comparable](pool *evenkeel.Pool[T], probe Probe[T], cfg Config) (*Checker, error) {
	if pool == nil {
		return nil, fmt.Errorf("%w: health.Start needs a pool, as NewPool returns it", evenkeel.ErrBadConfig)
	}
	if probe == nil {
		return nil, fmt.Errorf("%w: health.Start needs a probe: an HTTP, a TCP or a Func", evenkeel.ErrBadConfig)
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
	awaited := func() {}
	if !cfg.TrustNewcomers {
		awaited = pool.AwaitChecks()
	}
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
		awaited()
	}()
	return c, nil
}

// Close ends all probes and withdraws what they have found. Backends that probes
// had taken out return to the pool, at a small share: no probe could bring them
// back any more, so outcomes alone decide. A probe that was under way counts
// neither way. When Close has returned nil no goroutine of the Checker runs any
// more, and OnResult is not called any more.
//
// Close returns at once, but for two cases: a Func does not end although its
// context has, or Close is called within OnResult or the pool's OnEvent. Then
// Close waits for half a second and returns an error that names the case; what
// still runs ends with that function. A second Close is harmless, and reports how
// things stand by then.
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
