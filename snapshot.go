package evenkeel

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// A snapshot is what picks read: one state of the pool, published as a whole and
// never changed.
type snapshot[T comparable] struct {
	candidates
	in     []*member[T] // beside candidates.slots
	trials []*member[T] // out, and waiting for a lease to be tried with
	calm   bool         // nothing but the policy has a say in a lease
	due    time.Duration
	none   *NoBackendsError
	panics bool // health checks took too many: they are not believed
}

// publish makes a snapshot of the members' standing. The caller holds p.mu.
func (p *Pool[T]) publish() {
	now := p.elapsed()
	s := &snapshot[T]{none: &NoBackendsError{Members: len(p.members)}}
	s.version = lastID.Add(1)

	var usable, sound, out []*member[T]
	for _, m := range p.members {
		switch {
		case m.byHand:
			s.none.EjectedByHand++
			continue
		case m.weight == 0:
			s.none.Drained++
			continue
		}
		usable = append(usable, m)
		switch {
		case m.down:
		case m.phase != phaseIn:
			out = append(out, m)
		default:
			sound = append(sound, m)
		}
	}
	down := len(usable) - len(sound) - len(out)
	s.panics = down > 0 && (float64(down) > p.cfg.PanicShare*float64(len(usable)) || down == len(usable))

	// The cap holds for the pool as it is now, also when it has shrunk since the
	// ejections: those whose time is up first are used in spite of it.
	spared := map[*member[T]]bool{}
	if over := len(out) - p.mayEject(len(usable)); over > 0 {
		slices.SortStableFunc(out, func(a, b *member[T]) int { return cmp.Compare(a.until, b.until) })
		for _, m := range out[:over] {
			spared[m] = true
		}
	}
	all := s.panics || len(sound)+len(spared) == 0
	for _, m := range usable {
		if all || spared[m] || (!m.down && m.phase == phaseIn) {
			s.in = append(s.in, m)
		}
	}
	s.none.Ejected = len(usable) - len(s.in)
	for _, m := range p.members {
		m.used = false
		m.limit.Store(m.limitOf(p.cfg.MaxInFlight))
	}
	for _, m := range s.in {
		m.used = true
	}
	for _, m := range p.members {
		m.noteState(p, now)
		if s.due == 0 || (m.wakeAt() != 0 && m.wakeAt() < s.due) {
			s.due = m.wakeAt()
		}
		if m.phase == phaseOffered && !m.byHand && !m.down && m.weight > 0 {
			s.trials = append(s.trials, m)
		}
	}
	s.weigh(p.signal)
	s.setPrices()
	s.calm = len(s.in) > 0 && s.due == 0 && len(s.trials) == 0 && p.cfg.MaxInFlight == 0
	p.snap.Store(s)
}

func (m *member[T]) limitOf(most int) int32 {
	if most == 0 {
		return 0
	}
	return int32(math.Min(math.Max(math.Floor(float64(most)*m.weight), 1), math.MaxInt32))
}

// weigh fills in what policies see of s.in.
func (s *snapshot[T]) weigh(signal func(T, int) float64) {
	n := len(s.in)
	s.slots = make([]*slot, n)
	s.ids = make([]uint64, n)
	weights := make([]float64, n)
	heaviest := 0.0
	for i, m := range s.in {
		s.slots[i], s.ids[i] = m.slot, m.id
		weights[i] = m.share()
		heaviest = math.Max(heaviest, weights[i])
	}
	if signal != nil {
		s.signals = make([]func(int) float64, n)
		for i, m := range s.in {
			s.signals[i] = func(inFlight int) float64 { return signal(m.backend, inFlight) }
		}
	}
	differ := false
	for i := range weights {
		// Weights further apart than this are clipped: no rule here can tell them
		// from each other in a lifetime, and sums stay exact and above 0.
		weights[i] = math.Max(weights[i]/heaviest, 1e-12)
		differ = differ || weights[i] != weights[0]
	}
	if differ {
		heaviest = math.Min(math.Max(heaviest, 1e-6), 1e100) // so that loads stay apart too
		for i := range weights {
			weights[i] *= heaviest
		}
		s.weights = weights
		s.alias = newAliasTable(weights)
	}
	s.plain = s.weights == nil && s.signals == nil
}

// only returns the part of the snapshot that keep says yes to, as its own
// candidates. The members it returns stand beside them.
func (s *snapshot[T]) only(keep func(*member[T]) bool) (*candidates, []*member[T]) {
	c := &candidates{version: lastID.Add(1), partial: true}
	var in []*member[T]
	for i, m := range s.in {
		if !keep(m) {
			continue
		}
		in = append(in, m)
		c.slots = append(c.slots, s.slots[i])
		c.ids = append(c.ids, s.ids[i])
		if s.weights != nil {
			c.weights = append(c.weights, s.weights[i])
		}
		if s.signals != nil {
			c.signals = append(c.signals, s.signals[i])
		}
	}
	if len(in) == len(s.in) {
		return &s.candidates, s.in
	}
	if c.weights != nil {
		c.alias = newAliasTable(c.weights)
	}
	c.plain = s.plain
	return c, in
}

// upToDate brings the pool up to the clock, if anything was due, and returns the
// snapshot to use. It does not wait for the lock: who holds it is about to
// publish anyway.
func (p *Pool[T]) upToDate(s *snapshot[T]) *snapshot[T] {
	if s.due == 0 {
		return s
	}
	now := p.elapsed()
	if now < s.due || !p.mu.TryLock() {
		return s
	}
	for _, m := range p.members {
		m.wake(now)
	}
	p.publish()
	p.mu.Unlock()
	return p.snap.Load()
}

// lease is Dispatcher.Lease in full: what is due, trials, limits, waiting, and
// races that were lost.
func (p *Pool[T]) lease(ctx context.Context, d *Dispatcher[T], tried []T) (*member[T], uint32, error) {
	for look := 1; ; look++ {
		s := p.upToDate(p.snap.Load())
		if len(s.trials) > 0 && p.line.waiting.Load() == 0 { // else it is the oldest waiter's
			if m, start, ok := p.takeTrial(s, tried); ok {
				return m, start, nil
			}
		}
		if len(s.in) == 0 {
			return nil, 0, s.none
		}
		c, in := &s.candidates, s.in
		if len(tried) > 0 {
			c, in = s.only(func(m *member[T]) bool { return !slices.Contains(tried, m.backend) })
			if len(in) == 0 {
				none := *s.none
				none.Avoided = len(s.in)
				return nil, 0, &none
			}
		}
		if p.cfg.MaxInFlight > 0 {
			m, start, err := p.leaseLimited(ctx, d, s, c, in, tried)
			if err != nil || m != nil {
				return m, start, err
			}
			continue
		}
		i, seen := d.policy.Choose(View{c})
		if look >= looks {
			seen = Load{} // races enough: count it as it is
		}
		m := in[i]
		if start, ok := m.count(seen); ok {
			if p.snap.Load() == s {
				return m, start, nil
			}
			p.withdraw(m)
		}
	}
}

// withdraw takes back a count that was made on a snapshot that had just gone.
func (p *Pool[T]) withdraw(m *member[T]) {
	m.uncount()
	if p.cfg.MaxInFlight > 0 {
		p.line.freed(p)
	}
}
