package main

import (
	"fmt"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// sharedFaults are faults that all backends have alike, such as a database behind them.
func sharedFaults() []scenario {
	var list []scenario
	for _, percent := range []float64{1, 10, 20, 50, 100} {
		list = append(list, scenario{
			fmt.Sprintf("10 backends all fail %v %% of calls for 10 minutes", percent),
			func(seed uint64, short bool) ([]figure, error) { return sharedFault(percent/100, seed, short) },
		})
	}
	return list
}

func sharedFault(share float64, seed uint64, short bool) ([]figure, error) {
	s, err := newStage(10, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	failing := 0.0
	s.serve = func(int) reply {
		if s.random.Float64() < failing {
			return bad(20 * time.Millisecond)
		}
		return good(20 * time.Millisecond)
	}
	long := 10 * time.Minute
	if short {
		long = 30 * time.Second
	}
	s.closed(4, 30*time.Second)
	failing = share
	s.closed(4, long)
	failing = 0
	s.closed(4, 5*time.Second)
	return []figure{
		atMost(0, "ejections", float64(s.ejections), ""),
		atLeast(100, "least share of a member 5 s after", 100*s.leastShare(), "%"),
	}, nil
}

// seconds is when outcomes first ejected a backend, after the given time; no number if they
// have not.
func (s *stage) seconds(backend int, since time.Duration) float64 {
	at, ok := s.out[backend]
	if !ok {
		return math.NaN()
	}
	return (at - since).Seconds()
}
