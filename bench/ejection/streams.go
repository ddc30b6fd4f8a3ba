package main

import (
	"context"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// streams are calls that last for a minute and say Answered at their first message.
func streams() []scenario {
	return []scenario{
		{"streams of 60 s, 10 begin each second, 1 of 3 failed 5 times and is well again", func(seed uint64, short bool) ([]figure, error) {
			return longCalls(true, seed, short)
		}},
		{"the same without Answered", func(seed uint64, short bool) ([]figure, error) { return longCalls(false, seed, short) }},
		{"5 failures in a row beside 1,000 streams that are open and well", besideStreams},
	}
}

func longCalls(answered bool, seed uint64, short bool) ([]figure, error) {
	s, err := newStage(3, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	if err := s.onto(0, 5, bad(0)); err != nil {
		return nil, err
	}
	s.serve = func(int) reply { return reply{takes: time.Minute, answered: answered} }
	hour, full := time.Hour, 0.0
	if short {
		hour = 10 * time.Minute
	}
	began := s.now
	s.at(time.Second, s.watch(func() bool {
		if full == 0 && s.leastShare() == 1 {
			full = (s.now - began).Seconds()
		}
		return full == 0
	}))
	s.arrive(10, hour)
	share := within(30, 37, "its share of all calls in the hour", s.shareOf(0), "%")
	back := atMost(60, "at full share after", full, "s")
	if !answered {
		share, back = shown(share.what, share.value, "%"), shown(back.what, back.value, "s")
	}
	return []figure{atMost(1, "ejections", float64(s.ejections), ""), back, share}, nil
}

// watch makes something to schedule that looks every 100 ms for as long as look says so.
func (s *stage) watch(look func() bool) func() {
	var again func()
	again = func() {
		if look() {
			s.at(s.now+100*time.Millisecond, again)
		}
	}
	return again
}

func besideStreams(seed uint64, _ bool) ([]figure, error) {
	s, err := newStage(2, seed, evenkeel.Config{})
	if err != nil {
		return nil, err
	}
	for range 1000 {
		lease, err := s.lb.LeaseFor(context.Background(), evenkeel.Call[int]{Avoid: []int{1}})
		if err != nil {
			return nil, err
		}
		lease.Answered()
		defer lease.Release()
	}
	err = s.onto(0, 5, bad(0))
	return []figure{atMost(0, "ejections", float64(s.ejections), "")}, err
}
