package health

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// Config is how often probes are made and what follows from them. The zero value
// is the recommended set-up. Start refuses a value out of range with an error that
// names the field.
type Config struct {
	// Interval is the longest time from the start of one probe of a backend to
	// the start of its next probe. A probe that takes longer delays the next one:
	// a backend has at most one probe under way. 0: 5 s.
	Interval time.Duration

	// Jitter is the share of Interval, from 0 to 1, up to which the time before
	// each probe is cut at random, so that many programs do not probe at the same
	// moment. The first probe of a backend waits for up to this share of Interval.
	// 0: 0.1. Negative: none.
	Jitter float64

	// Timeout is how long one probe may take. A probe that takes longer has
	// failed. 0: 1 s.
	Timeout time.Duration

	// Down is how many failed probes in a row take a backend out. 0: 3.
	Down int

	// Up is how many passed probes in a row bring a backend back. 0: 2.
	Up int

	// MaxProbes is how many probes may be under way at once, over all backends of
	// the pool. The other probes wait for their turn; that time counts neither
	// toward Timeout nor as a failure. 0: 32.
	MaxProbes int

	// TrustNewcomers lets a backend that joins the pool get calls before its first
	// probe has passed. Otherwise it waits for that, unless all members are new.
	TrustNewcomers bool

	// OnResult is called after every probe: one call at a time, in order, outside
	// any lock. While OnResult runs no probe's end is noticed, so OnResult should
	// return soon. nil: nothing is called.
	OnResult func(Result)

	// Seed fixes the jitter, so that a run can be repeated. 0: another jitter in
	// every process.
	Seed uint64
}

// Result is how one probe ended.
type Result struct {
	Backend any           // of the pool's type
	Err     error         // why the probe failed; nil: it passed
	Start   time.Time     // when the probe began
	Took    time.Duration // from Start until the probe ended, or was given up
	Streak  int           // probes in a row, this one included, that ended alike
	Up      bool          // whether the backend is now found up
	Changed bool          // whether this probe has changed Up
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
	orDefault(&c.Interval, 5*time.Second)
	orDefault(&c.Timeout, time.Second)
	orDefault(&c.Down, 3)
	orDefault(&c.Up, 2)
	orDefault(&c.MaxProbes, 32)
	return c, nil
}

func orDefault[V int | time.Duration](v *V, otherwise V) {
	if *v == 0 {
		*v = otherwise
	}
}
