package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// panics are pools most of which is down, or seems to be.
func panics() []scenario {
	return []scenario{
		{"the health checks find all of 4 down, and all answer", falseChecks},
		{"the checks find 3 of 4 down, all answer, and pass one by one", checksAgain},
		{"5 of 6 refuse connections, 8 callers, health checks", func(seed uint64, _ bool) ([]figure, error) {
			s, err := mostDown(true, seed)
			return []figure{atMost(10, "calls that fail in 60 s", s.notServed(), "%")}, err
		}},
		{"5 of 6 refuse connections, 8 callers, no health checks", func(seed uint64, _ bool) ([]figure, error) {
			s, err := mostDown(false, seed)
			return []figure{atMost(10, "calls that fail in 60 s", s.notServed(), "%")}, err
		}},
		{"the same through Failover, health checks", func(seed uint64, _ bool) ([]figure, error) { return retried(true, seed) }},
		{"the same through Failover, no health checks", func(seed uint64, _ bool) ([]figure, error) { return retried(false, seed) }},
	}
}

func falseChecks(seed uint64, _ bool) ([]figure, error) {
	s, err := newStage(4, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	s.serve = func(int) reply { return good(10 * time.Millisecond) }
	s.closed(8, 30*time.Second)
	for b := range 4 {
		if err := s.pool.SetHealth(b, errCall); err != nil {
			return nil, err
		}
	}
	s.count = newCount()
	most := s.greatest(8, time.Minute)
	return []figure{
		atMost(0, "calls that fail or are refused", s.notServed(), "%"),
		atMost(30, "greatest share of one", most, "%"),
	}, nil
}

func checksAgain(seed uint64, _ bool) ([]figure, error) {
	s, err := newStage(4, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	s.serve = func(int) reply { return good(10 * time.Millisecond) }
	s.closed(8, 30*time.Second)
	for _, b := range []int{0, 1, 2} {
		if err := s.pool.SetHealth(b, errCall); err != nil {
			return nil, err
		}
	}
	s.closed(8, time.Minute)
	worst := 0.0
	for _, b := range []int{0, 1, 2} {
		if err := s.pool.SetHealth(b, nil); err != nil {
			return nil, err
		}
		worst = max(worst, s.greatest(8, time.Second))
	}
	return []figure{atMost(30, "greatest share of one in a second", worst, "%")}, nil
}

// mostDown is a pool of which 1 to 5 begin to refuse connections at one moment, after all
// have been well. Checks that find it do so within two seconds, one after the other.
func mostDown(checks bool, seed uint64) (*stage, error) {
	s, err := newStage(6, seed, evenkeel.Config{})
	if err != nil {
		return s, err
	}
	down := false
	s.serve = func(b int) reply {
		if down && b != 0 {
			return reply{takes: time.Millisecond, outcome: evenkeel.OutcomeFailure, err: syscall.ECONNREFUSED}
		}
		return good(10 * time.Millisecond)
	}
	s.closed(8, settle)
	down = true
	s.count = newCount()
	if checks {
		for b := 1; b < 6; b++ {
			s.at(s.now+time.Duration(b)*400*time.Millisecond, func() {
				if e := s.pool.SetHealth(b, syscall.ECONNREFUSED); e != nil {
					err = e
				}
			})
		}
	}
	s.closed(8, time.Minute)
	return s, err
}

// retried counts, once mostDown has been for a minute, the calls through Failover that fail.
// Its calls are made one after the other, a hundred a second.
func retried(checks bool, seed uint64) ([]figure, error) {
	s, err := mostDown(checks, seed)
	if err != nil {
		return nil, err
	}
	f, err := evenkeel.NewFailover(s.lb, evenkeel.FailoverConfig{})
	if err != nil {
		return nil, err
	}
	const calls = 6000
	failed := 0
	for range calls {
		s.run(10 * time.Millisecond)
		err := f.Do(context.Background(), func(_ context.Context, b int) error {
			if b != 0 {
				return fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
			}
			return nil
		})
		if err != nil {
			failed++
		}
	}
	return []figure{atMost(10, "calls that fail in the minute after", percent(failed, calls), "%")}, nil
}
