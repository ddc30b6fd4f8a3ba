package evenkeel

import (
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// A failure is never cheap. A backend that fails at once has nothing in flight, so by
// its count it is the best of all, and would draw everything. So a failed call stays on
// the backend's books, as if still in flight, until the other backends have finished
// about one call each: the penalty. By that rule a backend that only fails is given calls
// no faster than the others finish theirs: at most its fair share, however fast it fails,
// without any measure of time. The penalty shows in the load and nowhere else: InFlight
// and limits do not count it.

// penaltyLife is how long after the last failure the books are cleared in any case, so
// that a burst of failures does not weigh on a quiet hour.
const penaltyLife = 10 * time.Second

// hold keeps a failed call of m, still counted, on the books, unless what is there makes
// m look busier than any other backend is: more would change no choice now, and would
// only favour who joins later. The caller holds p.mu.
func (p *Pool[T]) hold(m *member[T], now time.Duration) {
	if !m.used || p.snap.Load().alone() || float64(m.penalty.Load()) > p.busiestOther(m)*m.share() {
		m.uncount()
		return
	}
	if m.penalty.Add(1) == 1 {
		p.owe(m, p.ends.Load())
		p.clearAt.CompareAndSwap(0, int64(later(now, penaltyLife)))
		p.payAt.Store(p.owing.next())
		p.atEnd.Or(atEndPay)
	}
}

// owe sets when the next failed call of m is paid for, counted from a number of ends.
func (p *Pool[T]) owe(m *member[T], from uint64) {
	m.payAt = from + uint64(m.price.Load())
	p.owing.push(m.payAt, m)
}

// busiestOther returns the largest number of calls in flight per weight on the other
// backends of the group; of a large one it asks a part only.
func (p *Pool[T]) busiestOther(m *member[T]) (most float64) {
	in := p.snap.Load().groupOf(m.tier.number).in
	const enough = 64
	from := 0
	if len(in) > enough {
		from = draw.Index(p.chance.Uint64(), len(in))
	}
	for k := range min(len(in), enough) {
		if o := in[(from+k)%len(in)]; o != m {
			most = max(most, float64(o.inFlight())/o.share())
		}
	}
	return most
}

// payOff counts one call that ended otherwise than by failure, anywhere in the pool,
// toward the failed ones that are on the books. Whoever is due is paid for by the caller
// that finds the lock free.
func (p *Pool[T]) payOff() {
	if p.payAt.Load() == 0 {
		return
	}
	ends, now := p.ends.Add(1), p.elapsed()
	if ends < p.payAt.Load() && int64(now) < p.clearAt.Load() || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if int64(now) >= p.clearAt.Load() {
		p.clearOld(now)
	}
	for len(p.owing) > 0 && p.owing.next() <= ends {
		due := p.owing.pop()
		if due.at == due.m.payAt && due.m.letGo() && due.m.penalty.Load() > 0 {
			p.owe(due.m, due.at)
		}
	}
	if p.payAt.Store(p.owing.next()); len(p.owing) == 0 {
		p.clearAt.Store(0)
		p.atEnd.And(^atEndPay)
	}
}

// clearOld clears the books of members that have not failed for penaltyLife.
func (p *Pool[T]) clearOld(now time.Duration) {
	next := forEver
	for _, due := range p.owing {
		if at := later(due.m.failedAt, penaltyLife); at <= now {
			p.forgive(due.m)
		} else {
			next = min(next, at)
		}
	}
	p.clearAt.Store(int64(max(next, later(now, penaltyLife/10)))) // not at every end
}

// letGo takes one failed call off the books, if there is one.
func (s *slot) letGo() bool {
	for {
		n := s.penalty.Load()
		if n <= 0 {
			return false
		}
		if s.penalty.CompareAndSwap(n, n-1) {
			s.uncount()
			return true
		}
	}
}

// forgive clears a member's books when it leaves the rotation. The caller holds p.mu.
func (p *Pool[T]) forgive(m *member[T]) {
	for m.letGo() {
	}
}
