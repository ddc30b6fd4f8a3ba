package main

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// hung is one of three backends that accepts calls and never answers.
func hung() []scenario {
	var list []scenario
	for _, c := range []struct {
		deadline, within time.Duration
		perSecond        float64
	}{
		{300 * time.Millisecond, 1500 * time.Millisecond, 300},
		{10 * time.Second, 12 * time.Second, 300},
	} {
		list = append(list, scenario{
			fmt.Sprintf("1 of 3 hangs, %v calls/s, deadline %v", c.perSecond, c.deadline),
			func(seed uint64, _ bool) ([]figure, error) {
				r, err := hang(3, c.perSecond, c.deadline, seed)
				return []figure{
					atMost(c.within.Seconds(), "out after", r.after, "s"),
					atMost(15, "calls that failed by then", float64(r.failed), ""),
					shown("calls it had been given by then", float64(r.given), ""),
					atMost(8, "trials in 130 s", float64(r.trials), ""),
				}, err
			},
		})
	}
	return append(list, scenario{"1 of 2 hangs, 4 calls/s, deadline 1 s", func(seed uint64, _ bool) ([]figure, error) {
		r, err := hang(2, 4, time.Second, seed)
		return []figure{
			atMost(60, "out after", r.after, "s"),
			shown("calls that failed by then", float64(r.failed), ""),
			atMost(8, "trials in 130 s", float64(r.trials), ""),
		}, err
	}})
}

// hanging0 is what has become of backend 0, which hangs.
type hanging0 struct {
	after                 float64 // seconds until it was out
	failed, given, trials int
}

func hang(n int, perSecond float64, deadline time.Duration, seed uint64) (hanging0, error) {
	var r hanging0
	s, err := newStage(n, seed, evenkeel.Config{})
	if err != nil {
		return r, err
	}
	hangs := false
	s.serve = func(b int) reply {
		if b != 0 || !hangs {
			return good(10 * time.Millisecond)
		}
		if s.out[0] > 0 {
			r.trials++
		} else {
			r.given++
		}
		// Runs before the end of the call: at the verdict of failure k, k have failed.
		s.at(s.now+deadline, func() {
			if s.out[0] == 0 {
				r.failed++
			}
		})
		return reply{takes: deadline, outcome: evenkeel.OutcomeDeadline, err: errCall}
	}
	s.arrive(perSecond, settle)
	hangs = true
	s.arrive(perSecond, 130*time.Second)
	r.after = s.seconds(0, settle)
	return r, nil
}
