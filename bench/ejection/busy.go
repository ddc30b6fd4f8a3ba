package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// busy are refusals, and errors that are no backend's fault.
func busy() []scenario {
	return []scenario{
		{"1 of 3 says 429 in 0.1 ms, the others take 50 ms", func(seed uint64, _ bool) ([]figure, error) {
			return refuses([]int{0}, 0, seed)
		}},
		{"the same with Retry-After 60 s", func(seed uint64, _ bool) ([]figure, error) {
			return refuses([]int{0}, time.Minute, seed)
		}},
		{"all of 3 say 429 with Retry-After 60 s", func(seed uint64, _ bool) ([]figure, error) {
			return refuses([]int{0, 1, 2}, time.Minute, seed)
		}},
		{"this process is out of file descriptors for 70 % of 400 calls on 8", func(seed uint64, _ bool) ([]figure, error) {
			return harmless(fmt.Errorf("dial: %w", syscall.EMFILE), seed)
		}},
		{"70 % of calls on 8 end in an error marked NotItsFault", func(seed uint64, _ bool) ([]figure, error) {
			return harmless(evenkeel.NotItsFault(errors.New("no rows")), seed)
		}},
	}
}

// refuses has some of three backends refuse every call for 20 s.
func refuses(which []int, pause time.Duration, seed uint64) ([]figure, error) {
	s, err := newStage(3, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	refusing := map[int]bool{}
	for _, b := range which {
		refusing[b] = true
	}
	s.serve = func(b int) reply {
		if refusing[b] {
			return reply{100 * time.Microsecond, evenkeel.OutcomeOverloaded, &evenkeel.BusyError{RetryAfter: pause}, false}
		}
		return good(50 * time.Millisecond)
	}
	s.closed(12, 20*time.Second)
	figures := []figure{atMost(0, "ejections", float64(s.ejections), "")}
	switch {
	case len(which) == 3:
		return append(figures, atMost(0, "calls that no backend is given to", float64(s.refused), ""),
			within(30, 37, "share of the first", s.shareOf(0), "%")), nil
	case pause > 0:
		return append(figures, atMost(12, "calls it is given in 20 s", float64(s.calls[0]), "")), nil
	}
	return append(figures, atMost(100./3, "its share of the calls", s.shareOf(0), "%")), nil
}

// harmless ends seven of ten calls with an error that must count against nobody.
func harmless(fault error, seed uint64) ([]figure, error) {
	s, err := newStage(8, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	for range 400 {
		s.run(time.Millisecond)
		_ = evenkeel.Do(context.Background(), s.lb, func(context.Context, int) error {
			if s.random.Float64() < 0.7 {
				return fault
			}
			return nil
		})
	}
	failures := 0
	for _, st := range s.pool.All() {
		failures += int(st.Failures)
	}
	return []figure{
		atMost(0, "ejections", float64(s.ejections), ""),
		atMost(0, "failures counted", float64(failures), ""),
	}, nil
}
