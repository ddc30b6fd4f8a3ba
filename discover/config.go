package discover

import "time"

// Config is when a source is asked, and what its answers may do. The zero value is the
// recommended set-up. Follow refuses a value out of range with an error that names the
// field.
type Config struct {
	// FirstAnswer is how long Follow waits for the first answer, if ctx does not end
	// sooner. 0: 10 s.
	FirstAnswer time.Duration

	// NoWait makes Follow return at once: the pool keeps the members that it was made
	// with, if any, until the first answer.
	NoWait bool

	// Interval is the longest time from the start of one lookup to the start of the
	// next. 0: 30 s.
	Interval time.Duration

	// MinInterval is the least time from the start of one lookup to the start of the
	// next, whatever asks for it. It is also the first wait after a failed lookup; the
	// wait doubles with each further failure, up to Interval. 0: 1 s, or Interval if that
	// is shorter.
	MinInterval time.Duration

	// Jitter is the share of each wait, from 0 to 1, that is cut off at random, so that
	// many programs do not ask at the same moment. 0: 0.1. Negative: none.
	Jitter float64

	// Timeout is how long one lookup may take. 0: 5 s.
	Timeout time.Duration

	// MaxShrink is the largest share of the members, from 0 to 1, that an answer may
	// leave out and be believed at once. New members make up for old ones, and one that
	// an answer drains, by a weight of 0, is not left out. 0: 0.5. 1: all but the last. Negative: none.
	MaxShrink float64

	// ShrinkAfter is how long the source must go on saying that so many are gone until
	// it is believed. 0: 1 min. Negative: never.
	ShrinkAfter time.Duration

	// MaxStale is how long the members are kept while lookups fail or are empty, from the
	// first such lookup on. After that the pool is emptied; the first answer fills it
	// again. 0: for ever.
	MaxStale time.Duration

	// Seed fixes the jitter, so that a run can be repeated. 0: another jitter in every
	// process.
	Seed uint64
}

func (c Config) withDefaults() (Config, error) {
	for _, f := range []struct {
		field string
		value time.Duration
	}{
		{"FirstAnswer", c.FirstAnswer},
		{"Interval", c.Interval},
		{"MinInterval", c.MinInterval},
		{"Timeout", c.Timeout},
		{"MaxStale", c.MaxStale},
	} {
		if f.value < 0 {
			return c, badConfig("Config."+f.field, "%v is negative", f.value)
		}
	}
	if err := share("Config.Jitter", &c.Jitter, 0.1); err != nil {
		return c, err
	}
	if err := share("Config.MaxShrink", &c.MaxShrink, 0.5); err != nil {
		return c, err
	}
	orDefault(&c.FirstAnswer, 10*time.Second)
	orDefault(&c.Interval, 30*time.Second)
	orDefault(&c.MinInterval, min(time.Second, c.Interval))
	orDefault(&c.Timeout, 5*time.Second)
	orDefault(&c.ShrinkAfter, time.Minute)
	if c.MinInterval > c.Interval {
		return c, badConfig("Config.MinInterval", "%v is more than the Interval of %v", c.MinInterval, c.Interval)
	}
	return c, nil
}

// share puts the default in place of 0 and 0 in place of a negative value.
func share(field string, v *float64, otherwise float64) error {
	switch {
	case *v < 0:
		*v = 0
	case *v == 0:
		*v = otherwise
	case !(*v <= 1): // NaN too
		return badConfig(field, "%v is not within 0 to 1", *v)
	}
	return nil
}

func orDefault(v *time.Duration, otherwise time.Duration) {
	if *v == 0 {
		*v = otherwise
	}
}
