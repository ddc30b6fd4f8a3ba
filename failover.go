package evenkeel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/budget"
)

// FailoverConfig says when Failover.Do tries a call again. The zero value is the
// recommended set-up.
type FailoverConfig struct {
	// Attempts is the most attempts for one call, the first included. 0: 3.
	Attempts int

	// Share and PerSecond are the budget, over the last ten seconds and all calls of the
	// Failover: this share of the calls, from 0 to 1, plus so many each second. 0: 0.2 and
	// 10. Negative: none.
	Share, PerSecond float64

	// Again says whether a call that ended with err may be tried on another backend. nil:
	// if DefaultOutcome takes the end for a failure or for overload.
	Again func(ctx context.Context, err error) bool
}

// A Failover repeats calls that failed on other backends, within a budget that all its
// calls share. It is safe for concurrent use; a program makes one for each service, by
// NewFailover.
type Failover[T comparable] struct {
	lb     Balancer[T]
	cfg    FailoverConfig
	budget *budget.Budget
}

// NewFailover returns a Failover over lb. The error matches ErrBadConfig.
func NewFailover[T comparable](lb Balancer[T], cfg FailoverConfig) (*Failover[T], error) {
	switch {
	case lb == nil:
		return nil, fmt.Errorf("%w: NewFailover needs a balancer", ErrBadConfig)
	case cfg.Attempts < 0:
		return nil, badConfig("FailoverConfig.Attempts", "%d is negative", cfg.Attempts)
	case math.IsNaN(cfg.Share) || cfg.Share > 1:
		return nil, badConfig("FailoverConfig.Share", "%v is not a share of at most 1", cfg.Share)
	case math.IsNaN(cfg.PerSecond) || math.IsInf(cfg.PerSecond, 0):
		return nil, badConfig("FailoverConfig.PerSecond", "%v is not a number", cfg.PerSecond)
	}
	orDefault(&cfg.Attempts, 3)
	orDefault(&cfg.Share, 0.2)
	orDefault(&cfg.PerSecond, 10)
	if cfg.Again == nil {
		cfg.Again = mayRepeat
	}
	return &Failover[T]{lb, cfg, budget.New(max(cfg.Share, 0), max(cfg.PerSecond, 0), time.Now())}, nil
}

func mayRepeat(ctx context.Context, err error) bool {
	outcome := DefaultOutcome(ctx, err)
	return outcome == OutcomeFailure || outcome == OutcomeOverloaded
}

// Do is the function Do for a call that may be repeated: fn is run again, on a backend
// that this call was not tried on, as long as FailoverConfig allows it and ctx runs. Each
// attempt is a lease of its own, which has ended before the next one begins. The error is
// that of the last attempt; if there was more than one it lists them all, and errors.Is
// and errors.As see each.
func (f *Failover[T]) Do(ctx context.Context, fn func(ctx context.Context, backend T) error) error {
	if f == nil || f.lb == nil || fn == nil {
		return errNilDo
	}
	f.budget.Count()
	var tried []T
	var failed []error
	for {
		backend, ran, err := attempt(ctx, f.lb, tried, fn)
		switch {
		case err == nil:
			return nil
		case ran:
			failed = append(failed, err)
		case len(failed) > 0: // no other backend: what was tried says more
			f.budget.Refund()
			return joined(failed)
		default:
			return err
		}
		tried = append(tried, backend)
		if len(tried) == f.cfg.Attempts || ctx.Err() != nil || !f.cfg.Again(ctx, err) || !f.budget.Spend(time.Now()) {
			return joined(failed)
		}
	}
}

// attempt makes one attempt on a backend that is none of those tried. It reports whether
// fn ran.
func attempt[T comparable](ctx context.Context, lb Balancer[T], tried []T, fn func(context.Context, T) error) (backend T, ran bool, err error) {
	lease, err := lb.LeaseFor(ctx, Call[T]{Avoid: tried})
	if err != nil {
		return backend, false, err
	}
	defer lease.Release()
	backend = lease.Backend()
	err = fn(ctx, backend)
	lease.Done(err)
	return backend, true, err
}

// joined is the error of several attempts.
func joined(failed []error) error {
	if len(failed) == 1 {
		return failed[0]
	}
	return fmt.Errorf("evenkeel: %d attempts failed: %w", len(failed), errors.Join(failed...))
}
