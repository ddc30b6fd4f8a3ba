package main

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// stage is a pool with callers and servers, on virtual time, for scenarios of any kind:
// serve says what becomes of each call, and at schedules whatever else happens.
type stage struct {
	pool   *evenkeel.Pool[int]
	lb     evenkeel.Balancer[int]
	random *rand.Rand
	now    time.Duration
	serve  func(backend int) reply

	count
	queue moments
	seq   int
}

// count is what has happened since the stage began, or since count was set to zero.
type count struct {
	calls, failed map[int]int           // by backend: begun; ended other than by success
	refused       int                   // calls that no backend could be leased for
	ejections     int                   // by outcome
	out           map[int]time.Duration // by backend: when outcomes ejected it first
}

func newCount() count {
	return count{calls: map[int]int{}, failed: map[int]int{}, out: map[int]time.Duration{}}
}

// reply is what becomes of a call.
type reply struct {
	takes    time.Duration
	outcome  evenkeel.Outcome
	err      error
	answered bool // the lease says Answered at once
}

func good(takes time.Duration) reply { return reply{takes: takes} }

func bad(takes time.Duration) reply {
	return reply{takes: takes, outcome: evenkeel.OutcomeFailure, err: errCall}
}

// newStage makes a stage of the backends 0 to n-1 under p2c.
func newStage(n int, seed uint64, cfg evenkeel.Config) (*stage, error) {
	s := &stage{random: rand.New(rand.NewPCG(seed, 2)), count: newCount()}
	cfg.Now = func() time.Time { return epoch.Add(s.now) }
	cfg.Seed = seed | 1
	cfg.OnEvent = func(e evenkeel.Event) {
		if e.Kind != evenkeel.EventState || e.To != evenkeel.StateEjectedByOutcome {
			return
		}
		s.ejections++
		if b := e.Backend.(int); s.out[b] == 0 {
			s.out[b] = e.At.Sub(epoch)
		}
	}
	backends := make([]int, n)
	for i := range backends {
		backends[i] = i
	}
	var err error
	if s.pool, err = evenkeel.NewPool(cfg, backends...); err != nil {
		return nil, err
	}
	s.lb, err = p2c.NewWith(s.pool, p2c.Config{Seed: seed | 1})
	return s, err
}

// at schedules f.
func (s *stage) at(when time.Duration, f func()) {
	s.seq++
	heap.Push(&s.queue, moment{when, s.seq, f})
}

// run lets all happen that is due within d.
func (s *stage) run(d time.Duration) {
	end := s.now + d
	for len(s.queue) > 0 && s.queue[0].at <= end {
		m := heap.Pop(&s.queue).(moment)
		s.now = m.at
		m.do()
	}
	s.now = end
}

// call makes one call, and runs after when it has ended.
func (s *stage) call(after func()) {
	lease, err := s.lb.Lease(context.Background())
	if err != nil {
		s.refused++
		s.at(s.now+time.Millisecond, after)
		return
	}
	b := lease.Backend()
	r := s.serve(b)
	s.calls[b]++
	if r.answered {
		lease.Answered()
	}
	s.at(s.now+r.takes, func() {
		if r.outcome != evenkeel.OutcomeSuccess {
			s.failed[b]++
		}
		lease.DoneAs(r.outcome, r.err)
		after()
	})
}

// closed has callers that each make one call after the other, for d.
func (s *stage) closed(callers int, d time.Duration) {
	end := s.now + d
	var again func()
	again = func() {
		if s.now < end {
			s.call(again)
		}
	}
	for range callers {
		s.call(again)
	}
	s.run(d)
}

// arrive begins so many calls a second as a Poisson process, for d, whatever becomes of them.
func (s *stage) arrive(perSecond float64, d time.Duration) {
	end := s.now + d
	var next func()
	next = func() {
		if s.now >= end {
			return
		}
		s.at(s.now+time.Duration(s.random.ExpFloat64()*float64(time.Second)/perSecond), next)
		s.call(func() {})
	}
	next()
	s.run(d)
}

// onto makes calls on one backend alone until n have ended as r.
func (s *stage) onto(backend, n int, r reply) error {
	var avoid []int
	for b := range s.pool.All() {
		if b != backend {
			avoid = append(avoid, b)
		}
	}
	for range n {
		lease, err := s.lb.LeaseFor(context.Background(), evenkeel.Call[int]{Avoid: avoid})
		if err != nil {
			return err
		}
		lease.DoneAs(r.outcome, r.err)
	}
	return nil
}

// leastShare is the smallest part of its weight that any member may use now: 1 if all are
// in at full share, 0 if one is out.
func (s *stage) leastShare() float64 {
	least := 1.0
	for _, st := range s.pool.All() {
		if st.State != evenkeel.StateActive && st.State != evenkeel.StateSlowStart {
			return 0
		}
		least = min(least, st.Share)
	}
	return least
}

func sum(counts map[int]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// percent is part of whole, 0 of nothing.
func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// shareOf is the part of all calls that one backend was given, in percent.
func (c *count) shareOf(backend int) float64 { return percent(c.calls[backend], sum(c.calls)) }

// notServed is the part of the calls that failed or were refused, in percent.
func (c *count) notServed() float64 {
	return percent(sum(c.failed)+c.refused, sum(c.calls)+c.refused)
}

// moment is something that happens at a time; of two at one time the first that was
// scheduled comes first.
type moment struct {
	at  time.Duration
	seq int
	do  func()
}

type moments []moment

func (m moments) Len() int { return len(m) }
func (m moments) Less(i, j int) bool {
	return m[i].at < m[j].at || m[i].at == m[j].at && m[i].seq < m[j].seq
}
func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)   { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	*m = (*m)[:last]
	return x
}
