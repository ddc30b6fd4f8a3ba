package evenkeel

import (
	"math/bits"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// A Policy says which backend is taken. It is called once a pick, from many
// goroutines at once, and must not block, allocate or keep the View.
//
// Choose returns an index of 0..v.Len()-1 and the Load it saw there, or the zero
// Load if it did not compare loads. v.Len() is at least 1. An index out of range
// is an error of the policy and makes the pick panic.
type Policy interface {
	Choose(v View) (index int, seen Load)
}

// View is what a policy sees at one pick: the backends that may be taken, as
// indices, with the load and the weight of each. It is valid during the call of
// Choose only.
type View struct {
	c *candidates
}

// Len returns the number of backends that may be taken, at least 1.
func (v View) Len() int { return len(v.c.slots) }

// Load returns backend i's load at this moment. Two calls may differ.
func (v View) Load(i int) Load {
	if !v.c.plain {
		return v.c.load(i)
	}
	w := v.c.slots[i].word.Load()
	return Load{float64(uint32(w)), w}
}

// Lesser looks at two backends and returns the less loaded one with the load that
// was seen, or i on a tie. It is Load and Less in one, for policies that compare
// two.
func (v View) Lesser(i, j int) (int, Load) {
	if v.c.plain {
		a, b := v.c.slots[i].word.Load(), v.c.slots[j].word.Load()
		if uint32(b) < uint32(a) {
			return j, Load{float64(uint32(b)), b}
		}
		return i, Load{float64(uint32(a)), a}
	}
	a, b := v.c.load(i), v.c.load(j)
	if b.Less(a) {
		return j, b
	}
	return i, a
}

// Weighted reports whether the weights of the backends differ. Slow start lowers
// the weight of a backend that is new or back, so a pool whose members all weigh
// the same can be weighted for a while.
func (v View) Weighted() bool { return v.c.weights != nil }

// Weight returns backend i's weight, which is above 0: the one that was set
// times its slow-start share. Where all are equal it is 1.
func (v View) Weight(i int) float64 {
	if v.c.weights == nil {
		return 1
	}
	return v.c.weights[i]
}

// ID returns backend i's number: it stays the same for as long as the backend is
// a member of its pool, and no other backend of any pool in the process has it.
func (v View) ID(i int) uint64 { return v.c.ids[i] }

// Version changes whenever the backends, their order or their weights do, so
// that a policy can keep what it worked out from them. Versions of different
// pools differ too.
func (v View) Version() uint64 { return v.c.version }

// Partial reports whether this view leaves out backends that are in, for this
// one pick: those at their limit, or those that a retry must avoid. Its Version
// does not come again.
func (v View) Partial() bool { return v.c.partial }

// Draw maps one 64-bit random number to a backend, each with a probability in
// proportion to its weight.
func (v View) Draw(u uint64) int {
	if v.c.alias == nil {
		return draw.Index(u, len(v.c.slots))
	}
	return v.c.alias.draw(u)
}

// DrawTwo maps one 64-bit random number to two different backends: uniformly
// over the ordered pairs where all weigh the same; else the first in proportion
// to its weight, and the second likewise among the rest. Len must be at least 2.
func (v View) DrawTwo(u uint64) (i, j int) {
	if v.c.alias == nil {
		return draw.Two(u, len(v.c.slots))
	}
	return v.c.drawTwoWeighted(u)
}

// Least returns the least loaded of all backends; on a tie each of the tied ones
// with a probability in proportion to its weight, wherever in the list they
// stand. u is a random number.
//
// It looks at two random backends first: one that is idle cannot be beaten, and
// taking it leaves the choice among the idle ones as random as a full scan does.
func (v View) Least(u uint64) (int, Load) {
	stream := draw.Stream(u)
	for range 2 {
		i := v.Draw(u)
		if l := v.Load(i); l.Idle() {
			return i, l
		}
		u = stream.Next()
	}
	if v.c.plain {
		return v.c.leastCount(u)
	}
	at, best, tied := 0, v.Load(0), v.Weight(0) // tied: the weight of the tied ones so far
	for i := 1; i < v.Len(); i++ {
		l := v.Load(i)
		switch {
		case l.Less(best):
			at, best, tied = i, l, v.Weight(i)
		case l.Equal(best):
			tied += v.Weight(i)
			if draw.Unit(stream.Next())*tied < v.Weight(i) {
				at, best = i, l
			}
		}
	}
	return at, best
}

// leastCount is Least where the load is the count. It counts the ties in a first
// pass and draws one of them in a second, which is faster than a draw for each.
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

func (c *candidates) drawTwoWeighted(u uint64) (i, j int) {
	i = c.alias.draw(u)
	stream := draw.Stream(u)
	// Drawing again until it differs gives the right distribution. Where one
	// backend outweighs all others that could take for ever, so after a few
	// tries the others are walked through.
	for range 8 {
		if j = c.alias.draw(stream.Next()); j != i {
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

// aliasTable draws an index in proportion to weights in constant time (Vose, "A
// linear algorithm for generating random numbers with a given distribution",
// 1991).
type aliasTable struct {
	keep  []float64 // probability that column i stands for i itself
	other []int32   // else it stands for this one
}

func newAliasTable(weights []float64) *aliasTable {
	n := len(weights)
	t := &aliasTable{keep: make([]float64, n), other: make([]int32, n)}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	scaled := make([]float64, n)
	var small, large []int32
	for i, w := range weights {
		scaled[i] = w / sum * float64(n)
		if scaled[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.keep[s], t.other[s] = scaled[s], l
		scaled[l] -= 1 - scaled[s]
		if scaled[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, rest := range [2][]int32{small, large} {
		for _, i := range rest { // 1 but for rounding
			t.keep[i], t.other[i] = 1, i
		}
	}
	return t
}

func (t *aliasTable) draw(u uint64) int {
	hi, rest := bits.Mul64(u, uint64(len(t.keep)))
	if draw.Unit(rest) < t.keep[hi] {
		return int(hi)
	}
	return int(t.other[hi])
}
