package main

import (
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// overload is more callers than the servers have places for: 8 of them with 16 places
// each, 10 ms for a call, and a refusal after 1 ms beyond that.
func overload() []scenario {
	return []scenario{
		{"200 callers for 2 s on 128 places, then 90", func(seed uint64, _ bool) ([]figure, error) {
			return burst("p2c", seed)
		}},
		{"the same under sqf", func(seed uint64, _ bool) ([]figure, error) { return burst("sqf", seed) }},
		{"the same under roundrobin", func(seed uint64, _ bool) ([]figure, error) { return burst("roundrobin", seed) }},
		{"120 callers for good", steady},
	}
}

// places serves as servers do that hold so many calls each.
func (s *stage) places(most int) {
	ends := map[int][]time.Duration{}
	s.serve = func(b int) reply {
		held := slices.DeleteFunc(ends[b], func(end time.Duration) bool { return end <= s.now })
		if len(held) >= most {
			ends[b] = held
			return bad(time.Millisecond)
		}
		ends[b] = append(held, s.now+10*time.Millisecond)
		return good(10 * time.Millisecond)
	}
}

func crowd(policy string, off bool, seed uint64) (*stage, error) {
	s, err := newStage(8, seed, evenkeel.Config{Ejection: evenkeel.Ejection{Off: off}})
	if err != nil {
		return nil, err
	}
	switch policy {
	case "sqf":
		s.lb, err = sqf.NewWith(s.pool, sqf.Config{Seed: seed | 1})
	case "roundrobin":
		s.lb, err = roundrobin.NewWith(s.pool, roundrobin.Config{Seed: seed | 1})
	}
	s.places(16)
	return s, err
}

func burst(policy string, seed uint64) ([]figure, error) {
	s, err := crowd(policy, false, seed)
	if err != nil {
		return nil, err
	}
	s.closed(200, 2*time.Second)
	s.closed(90, 10*time.Second)
	ejections := s.ejections
	s.count = newCount()
	s.closed(90, 10*time.Second)
	refused := atMost(0.1, "refused from 10 s after", s.notServed(), "%")
	if policy == "roundrobin" { // does not look at loads: 90 callers fill one server's 16 places by chance
		refused = shown(refused.what, refused.value, refused.unit)
	}
	return []figure{atMost(0, "ejections", float64(ejections+s.ejections), ""), refused}, nil
}

func steady(seed uint64, _ bool) ([]figure, error) {
	var served [2]int
	ejections := 0
	for i, off := range []bool{false, true} {
		s, err := crowd("p2c", off, seed)
		if err != nil {
			return nil, err
		}
		s.closed(120, 10*time.Second)
		served[i] = sum(s.calls) - sum(s.failed)
		ejections += s.ejections
	}
	return []figure{
		atMost(0, "ejections", float64(ejections), ""),
		atLeast(99, "calls served, of those without ejection", percent(served[0], served[1]), "%"),
	}, nil
}
