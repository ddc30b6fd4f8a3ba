package evenkeel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// atOnce is up to how many members a pool publishes every change at once. In a larger
// one it waits for one change for each so many members, or one pick for each member.
const atOnce = 64

// publish makes a snapshot of the members' standing. The caller holds p.mu.
func (p *Pool[T]) publish(now time.Duration, mode mode) {
	was := p.mode
	p.mode, p.pending = mode, 0
	spared := p.spared()
	s := &snapshot[T]{none: p.none(), panics: mode.panics}
	groups := []*group[T]{&s.group}
	for _, t := range p.tiers {
		g := groups[len(groups)-1]
		g.tier = t.number
		weight := 0.0
		for _, m := range p.members {
			if m.tier != t {
				continue
			}
			weight += m.weight
			p.use(m, mode.uses(m.class()) || spared[m], was.panics, now)
			if m.used {
				g.in = append(g.in, m)
			}
		}
		if len(g.in) > 0 {
			g.weigh(p.signal != nil, p.beliefs.held.Load())
			g.setPrices()
			g.part = g.weightInRotation() / weight
			s.none.Ejected -= len(g.in)
			groups = append(groups, &group[T]{})
		}
	}
	s.spill, s.standby = share(groups[:len(groups)-1])
	p.snap.Store(s)
	if was.panics != mode.panics {
		kind := EventPanic
		if was.panics {
			kind = EventPanicEnded
		}
		p.queueEvent(Event{Kind: kind}, now)
	}
}

// none counts the members for the error that nobody may be used. Ejected still holds
// those that are in rotation.
func (p *Pool[T]) none() *NoBackendsError {
	e := &NoBackendsError{Pool: p.cfg.Name, Members: len(p.members)}
	for _, t := range p.tiers {
		e.EjectedByHand += t.count[classByHand]
		e.Drained += t.count[classDrained]
		e.Ejected += t.usable() + t.count[classUnchecked]
	}
	return e
}

// spared returns the members that are used although outcomes have ejected them: the cap
// holds for the pool as it is now, also when it has shrunk since the ejections. Those
// whose time is up first come first.
func (p *Pool[T]) spared() map[*member[T]]bool {
	if p.mode.over == 0 {
		return nil
	}
	spared, sound := map[*member[T]]bool{}, p.soundMembers()
	for _, t := range p.tiers {
		over := t.count[classOut] - p.mayEject(t, sound)
		if over <= 0 {
			continue
		}
		var out []*member[T]
		for _, m := range p.members {
			if m.tier == t && m.counted == classOut {
				out = append(out, m)
			}
		}
		slices.SortStableFunc(out, func(a, b *member[T]) int { return cmp.Compare(a.until, b.until) })
		for _, m := range out[:over] {
			spared[m] = true
		}
	}
	return spared
}

// weigh fills in what policies see of g.in.
func (g *group[T]) weigh(bySignal, byEstimate bool) {
	n := len(g.in)
	g.slots = make([]*slot, n)
	g.who = make([]*identity, n)
	g.ledgers = make([]*ledger, n)
	var weight, ramped float64
	for i, m := range g.in {
		g.slots[i], g.who[i], g.ledgers[i] = m.slot, &m.identity, m.ledger
		if !m.doubted {
			weight += m.weight
			ramped += m.weight * m.ramp.share()
		}
	}
	raise := lift(weight, ramped)
	weights, shares := make([]float64, n), make([]float64, n)
	for i, m := range g.in {
		own := m.ramp.share()
		m.allowed = own + (1-own)*raise
		if m.doubted {
			m.allowed = waryShare
		}
		weights[i], shares[i] = m.share(), m.allowed
	}
	g.setWeights(weights)
	if slices.Min(shares) < slices.Max(shares) {
		g.shares = shares
	}
	switch {
	case bySignal:
		s := &signals{}
		for _, m := range g.in {
			s.of = append(s.of, m.signal)
		}
		g.meter = s
	case byEstimate:
		g.meter = estimates{}
	}
}

// setWeights keeps the weights if they differ.
func (c *candidates) setWeights(weights []float64) {
	heaviest := slices.Max(weights)
	differ := false
	for i := range weights {
		// Weights further apart than this are clipped: no rule here can tell them from
		// each other in a lifetime, and sums stay exact and above 0.
		weights[i] = math.Max(weights[i]/heaviest, 1e-12)
		differ = differ || weights[i] != weights[0]
	}
	if !differ {
		return
	}
	heaviest = math.Min(math.Max(heaviest, 1e-6), 1e100) // so that loads stay apart too
	for i := range weights {
		weights[i] *= heaviest
	}
	c.weights = weights
	c.alias = draw.NewAliasTable(weights)
	c.meter = countPerWeight{}
}

// overProvision is how many times the share of a tier that is in rotation may count, up
// to all calls, before calls spill to the next tier: Envoy's rule and factor (its
// documentation, "Priority levels"). A tier that has lost less than 29 % of its weight
// keeps all calls.
const overProvision = 1.4

// share divides the calls among the tiers: the lowest one takes what it can carry, the next
// ones what is left. Where all tiers together cannot carry the calls, they share them in
// proportion to what they can. It returns the tiers beside the first that get some, and
// those that stand by, for calls that find no backend or no place in the tiers before.
func share[T comparable](groups []*group[T]) (spill, standby []*group[T]) {
	left, used := 1.0, 0
	for ; used < len(groups) && left > 0; used++ {
		g := groups[used]
		g.upTo = min(left, overProvision*g.part)
		left -= g.upTo
	}
	upTo := 0.0
	for _, g := range groups[:used] {
		upTo += g.upTo / (1 - left)
		g.upTo = upTo
	}
	if used < 2 {
		return nil, groups[used:]
	}
	return groups[1:used], groups[used:]
}

// weightInRotation is the weight that the group can carry calls for. Where all of it are
// coming back, it is what their slow start allows each: calls return to the tier step by
// step.
func (g *group[T]) weightInRotation() (weight float64) {
	climbing := !slices.ContainsFunc(g.in, func(m *member[T]) bool { return !m.ramp.climbing() })
	for _, m := range g.in {
		if climbing {
			weight += m.weight * m.ramp.share()
		} else {
			weight += m.share()
		}
	}
	return weight
}

// groups yields the tiers, lowest first: those that get calls, and those that stand by.
func (s *snapshot[T]) groups(yield func(*group[T]) bool) {
	if len(s.in) == 0 || !yield(&s.group) {
		return
	}
	for _, list := range [2][]*group[T]{s.spill, s.standby} {
		for _, g := range list {
			if !yield(g) {
				return
			}
		}
	}
}

// groupOf returns the group of a tier, or the first one if that tier is not in use.
func (s *snapshot[T]) groupOf(tier int) *group[T] {
	for g := range s.groups {
		if g.tier == tier {
			return g
		}
	}
	return &s.group
}

// alone reports whether only one member is in rotation.
func (s *snapshot[T]) alone() bool { return len(s.in) == 1 && len(s.spill) == 0 }

// only returns the part of the group that keep says yes to, for one pick: the group
// itself if that is all of it.
func (g *group[T]) only(keep func(*member[T]) bool) *group[T] {
	part := &group[T]{}
	part.tier, part.partial = g.tier, true
	var weights []float64
	var meter signals
	for i, m := range g.in {
		if !keep(m) {
			continue
		}
		part.in = append(part.in, m)
		part.slots, part.who = append(part.slots, m.slot), append(part.who, &m.identity)
		part.ledgers = append(part.ledgers, m.ledger)
		if g.weights != nil {
			weights = append(weights, g.weights[i])
		}
		if g.shares != nil {
			part.shares = append(part.shares, g.shares[i])
		}
		if all, ok := g.meter.(*signals); ok {
			meter.of = append(meter.of, all.of[i])
		}
	}
	if len(part.in) == len(g.in) {
		return g
	}
	if len(weights) > 0 {
		part.weights, part.alias, part.meter = weights, draw.NewAliasTable(weights), countPerWeight{}
	}
	switch g.meter.(type) {
	case *signals:
		part.meter = &meter
	case estimates:
		part.meter = estimates{}
	}
	return part
}

// nobody is the error of a call that avoids some backends and finds no other.
func (s *snapshot[T]) nobody(avoid []T) error {
	none := *s.none
	if len(avoid) > 0 {
		for g := range s.groups {
			none.Avoided += len(g.in)
		}
	}
	return &none
}

// setPrices works out, for every backend in the group, how many calls the others are
// expected to finish while it finishes one.
func (g *group[T]) setPrices() {
	total := float64(len(g.in))
	if g.weights != nil {
		total = 0
		for _, w := range g.weights {
			total += w
		}
	}
	for i, m := range g.in {
		own := 1.0
		if g.weights != nil {
			own = g.weights[i]
		}
		m.price.Store(int64(min(max(math.Round((total-own)/own), 1), 1e9)))
	}
}
