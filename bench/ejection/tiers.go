package main

import (
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// tiers is two primaries, 0 and 1, and a reserve, 2.
func tiers() []scenario {
	return []scenario{{"2 primaries and a reserve", reserve}}
}

func reserve(seed uint64, _ bool) ([]figure, error) {
	s, err := newStage(3, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	err = s.pool.ReplaceMembers(
		evenkeel.Member[int]{Backend: 0, Weight: 1},
		evenkeel.Member[int]{Backend: 1, Weight: 1},
		evenkeel.Member[int]{Backend: 2, Weight: 1, Tier: 1})
	if err != nil {
		return nil, err
	}
	dead := map[int]bool{}
	s.serve = func(b int) reply {
		if dead[b] {
			return bad(time.Millisecond)
		}
		return good(10 * time.Millisecond)
	}
	next := func(wait, d time.Duration) {
		s.closed(8, wait)
		s.count = newCount()
		s.closed(8, d)
	}
	var figures []figure
	next(10*time.Second, 10*time.Second)
	figures = append(figures, atMost(0, "calls to the reserve while all are well", float64(s.calls[2]), ""))

	dead[0], dead[1] = true, true
	next(0, 20*time.Second)
	figures = append(figures,
		atMost(60, "calls that fail when both primaries die, in 20 s", float64(sum(s.failed)), ""),
		atLeast(95, "share of the reserve in these 20 s", s.shareOf(2), "%"))

	dead[0] = false
	next(90*time.Second, 5*time.Second)
	figures = append(figures, within(60, 80, "share of the primary that is back first", s.shareOf(0), "%"))

	dead[1] = false
	next(90*time.Second, 5*time.Second)
	return append(figures, atMost(0, "calls to the reserve when both are back", float64(s.calls[2]), "")), nil
}
