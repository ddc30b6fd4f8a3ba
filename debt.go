package evenkeel

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// A failure is never cheap. A backend that fails at once has nothing in flight,
// so by its count it is the best of all, and would draw everything. So a failed
// call stays on its books, as if still in flight, until the other backends have
// finished about one call each. By that rule a backend that only fails is given
// calls no faster than the others finish theirs: at most its fair share, however
// fast it fails, without any measure of time. It shows in the load and nowhere
// else: InFlight and limits do not count it.

// debt is the part of a slot that pays off its failed calls.
type debt struct {
	price  atomic.Int64 // ends of calls that pay off one failure
	credit atomic.Int64 // ends of calls not used up yet
	last   atomic.Int64 // time.Duration of the last failure
}

// debtLife is how long after the last failure the books are cleared in any case,
// so that a burst of failures does not weigh on a quiet hour.
const debtLife = 10 * time.Second

// setPrices works out, for every backend in the snapshot, how many calls the
// others are expected to finish while it finishes one.
func (s *snapshot[T]) setPrices() {
	total := float64(len(s.in))
	if s.weights != nil {
		total = 0
		for _, w := range s.weights {
			total += w
		}
	}
	for i, m := range s.in {
		own := 1.0
		if s.weights != nil {
			own = s.weights[i]
		}
		m.debt.price.Store(int64(min(max(math.Round((total-own)/own), 1), 1e9)))
	}
}

// hold keeps a failed call of m, still counted, on the books, unless what is there
// makes m look busier than any other backend is: more would change no choice now,
// and would only favour who joins later. The caller holds p.mu.
func (p *Pool[T]) hold(m *member[T], now time.Duration) {
	if float64(m.held.Load()) > p.busiestOther(m)*m.share() {
		m.uncount()
		return
	}
	m.debt.last.Store(int64(now))
	m.held.Add(1)
	var list []*slot
	if old := p.debtors.Load(); old != nil {
		for _, s := range *old {
			if s == m.slot {
				return
			}
			if s.held.Load() > 0 {
				list = append(list, s)
			}
		}
	}
	list = append(list, m.slot)
	p.debtors.Store(&list)
}

// busiestOther returns the largest number of calls in flight per weight on the
// other backends; of a large pool it asks a part only.
func (p *Pool[T]) busiestOther(m *member[T]) (most float64) {
	in := p.snap.Load().in
	const enough = 64
	from := 0
	if len(in) > enough {
		from = draw.Index(p.jitter.Uint64(), len(in))
	}
	for k := range min(len(in), enough) {
		if o := in[(from+k)%len(in)]; o != m {
			most = max(most, float64(o.inFlight())/o.share())
		}
	}
	return most
}

// payOff counts one call that ended otherwise than by failure, anywhere in the
// pool, toward the failed ones that are on the books.
func (p *Pool[T]) payOff() {
	list := p.debtors.Load()
	if list == nil {
		return
	}
	now := int64(p.elapsed())
	owing := false
	for _, s := range *list {
		switch price := s.debt.price.Load(); {
		case now-s.debt.last.Load() > int64(debtLife):
			for s.letGo() {
			}
		case s.debt.credit.Add(1) >= price:
			s.debt.credit.Add(-price)
			s.letGo()
		}
		owing = owing || s.held.Load() > 0
	}
	if !owing && p.mu.TryLock() {
		if p.debtors.Load() == list {
			still := false
			for _, s := range *list {
				s.debt.credit.Store(0)
				still = still || s.held.Load() > 0
			}
			if !still {
				p.debtors.Store(nil)
			}
		}
		p.mu.Unlock()
	}
}

// letGo takes one failed call off the books, if there is one.
func (s *slot) letGo() bool {
	for {
		h := s.held.Load()
		if h <= 0 {
			return false
		}
		if s.held.CompareAndSwap(h, h-1) {
			s.uncount()
			return true
		}
	}
}

// forgive clears a member's books when it leaves the rotation. The caller holds
// p.mu.
func (p *Pool[T]) forgive(m *member[T]) {
	for m.letGo() {
	}
}
