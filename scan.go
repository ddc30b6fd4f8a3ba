package evenkeel

import "github.com/evenkeel-go/evenkeel/internal/draw"

// draw maps a random number to a candidate, each with a probability in proportion to its
// weight.
func (c *candidates) draw(u uint64) int {
	if c.alias == nil {
		return draw.Index(u, len(c.slots))
	}
	return c.alias.Draw(u)
}

// leastCount is Least where the load is the count. It counts the ties in a first pass
// and draws one of them in a second, which is faster than a draw for each.
func (c *candidates) leastCount(u uint64) (int, Load) {
	at, best, tied := 0, c.slots[0].word.Load(), 1
	for i, s := range c.slots[1:] {
		w := s.word.Load()
		if uint32(w) > uint32(best) {
			continue
		}
		if uint32(w) == uint32(best) {
			tied++
			continue
		}
		at, best, tied = i+1, w, 1
	}
	if tied == 1 {
		return at, Load{float64(uint32(best)), best}
	}
	skip := draw.Index(u, tied)
	for i, s := range c.slots {
		w := s.word.Load()
		if uint32(w) != uint32(best) {
			continue
		}
		at, best = i, w // stays, should others have been taken meanwhile
		if skip--; skip < 0 {
			break
		}
	}
	return at, Load{float64(uint32(best)), best}
}

// total is View.Total. Without a signal, a load times its weight is the count.
func (c *candidates) total() (load, weight float64) {
	if bySignal, ok := c.meter.(*signals); ok {
		return c.totalOf(bySignal)
	}
	if c.weights == nil {
		sum, all := uint64(0), uint64(0)
		for _, s := range c.slots {
			w := s.word.Load()
			sum += uint64(uint32(w))
			all |= w
		}
		if !isBarred(all) { // else somebody has left, and is not to be counted
			return float64(sum), float64(len(c.slots))
		}
	}
	for i, s := range c.slots {
		w, own := s.word.Load(), 1.0
		if isBarred(w) {
			continue
		}
		if c.weights != nil {
			own = c.weights[i]
		}
		load += float64(booked(w))
		weight += own
	}
	return load, weight
}

func (c *candidates) totalOf(m meter) (load, weight float64) {
	for i := range c.slots {
		l, own := m.load(c, i), 1.0
		if isBarred(l.word) {
			continue
		}
		if c.weights != nil {
			own = c.weights[i]
		}
		load += l.value * own
		weight += own
	}
	return load, weight
}

func (c *candidates) drawTwoByWeight(u uint64) (i, j int) {
	i = c.alias.Draw(u)
	stream := draw.Stream(u)
	// Drawing again until it differs gives the right distribution. Where one backend
	// outweighs all others that could take for ever, so after a few tries the others are
	// walked through.
	for range 8 {
		if j = c.alias.Draw(stream.Next()); j != i {
			return i, j
		}
	}
	var rest float64
	for k, w := range c.weights {
		if k != i {
			rest += w
		}
	}
	at := draw.Unit(stream.Next()) * rest
	j = -1
	for k, w := range c.weights {
		if k == i {
			continue
		}
		j = k // the last one, if rounding carries at past the end
		if at -= w; at < 0 {
			break
		}
	}
	return i, j
}
