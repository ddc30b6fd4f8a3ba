package main

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// changes are changes of the members, which no member that stays may pay for.
func changes() []scenario {
	list := []scenario{{"9 of 10 are replaced at once", func(seed uint64, _ bool) ([]figure, error) {
		s, err := newStage(10, seed, evenkeel.Config{})
		if err != nil {
			return nil, err
		}
		s.serve = func(int) reply { return good(10 * time.Millisecond) }
		s.closed(20, 30*time.Second)
		s.count = newCount()
		err = s.pool.Replace(0, 11, 12, 13, 14, 15, 16, 17, 18, 19)
		s.closed(20, time.Second)
		return []figure{atMost(20, "share of the one that stays, first second", s.shareOf(0), "%")}, err
	}}}
	for _, n := range []int{2, 5, 10} {
		list = append(list, scenario{
			fmt.Sprintf("a rolling update of %d, one each second", n),
			func(seed uint64, _ bool) ([]figure, error) { return rolling(n, seed) },
		})
	}
	return append(list, scenario{"10 that come back from failed checks, one each second", passOneByOne})
}

// rolling replaces one member after the other and looks at the greatest share that any had
// in one second, in fair shares.
func rolling(n int, seed uint64) ([]figure, error) {
	s, err := newStage(n, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	s.serve = func(int) reply { return good(10 * time.Millisecond) }
	s.closed(2*n, 30*time.Second)
	worst := 0.0
	members := make([]int, n)
	for i := range members {
		members[i] = i
	}
	for i := range n + 10 { // and ten seconds more
		if i < n {
			members[i] = n + i
			if err := s.pool.Replace(members...); err != nil {
				return nil, err
			}
		}
		worst = max(worst, s.greatest(2*n, time.Second)*float64(n)/100)
	}
	return []figure{atMost(2, "most that a member got in a second, in fair shares", worst, "")}, nil
}

// greatest runs callers for d and returns the greatest share of their calls that a member
// was given, in percent.
func (s *stage) greatest(callers int, d time.Duration) float64 {
	s.count = newCount()
	s.closed(callers, d)
	most := 0.0
	for b := range s.calls {
		most = max(most, s.shareOf(b))
	}
	return most
}

func passOneByOne(seed uint64, _ bool) ([]figure, error) {
	s, err := newStage(10, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	s.serve = func(int) reply { return good(10 * time.Millisecond) }
	s.closed(20, 30*time.Second)
	for b := range 10 {
		if err := s.pool.SetHealth(b, errCall); err != nil {
			return nil, err
		}
	}
	s.closed(20, 30*time.Second)
	worst := 0.0
	for b := range 10 {
		if err := s.pool.SetHealth(b, nil); err != nil {
			return nil, err
		}
		worst = max(worst, s.greatest(20, time.Second)/10)
	}
	return []figure{atMost(2, "most that a member got in a second, in fair shares", worst, "")}, nil
}
