package p2c

import (
	"slices"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// few is how many draws are kept apart by comparing each with all before it.
const few = 16

// chooseOfD is Choose for any number of looks, any number of backends, and any
// weights.
func (p *policy) chooseOfD(v evenkeel.View) (int, evenkeel.Load) {
	n := v.Len()
	switch {
	case n == 1 || p.d == 1:
		return v.Draw(p.source.Uint64()), evenkeel.Load{} // nothing to compare
	case p.d >= n:
		return v.Least(p.source.Uint64())
	case p.d <= few:
		return p.drawFew(v)
	case v.Weighted():
		return v.Least(p.source.Uint64()) // more looks than asked for are no worse
	}
	return p.sample(v)
}

// drawFew draws one after the other, each different from those before, so the
// order is random and the first of equals is a random one of them. Where a few
// backends outweigh all others by far it may give up on finding D of them, but
// never looks at fewer than two.
func (p *policy) drawFew(v evenkeel.View) (int, evenkeel.Load) {
	stream := draw.Stream(p.source.Uint64())
	var drawn [few]int
	i, j := v.DrawTwo(stream.Next())
	at, best := i, v.Load(i)
	if l := v.Load(j); l.Less(best) {
		at, best = j, l
	}
	drawn[0], drawn[1] = i, j
	k := 2
	for tries := 0; k < p.d && tries < 64*few; tries++ {
		i := v.Draw(stream.Next())
		if slices.Contains(drawn[:k], i) {
			continue
		}
		drawn[k] = i
		k++
		if l := v.Load(i); l.Less(best) {
			at, best = i, l
		}
	}
	return at, best
}

// sample takes exactly D of n in one pass (selection sampling: Knuth, The Art of
// Computer Programming, vol. 2, algorithm 3.4.2 S). The pass is in order, so ties
// are broken by lot.
func (p *policy) sample(v evenkeel.View) (int, evenkeel.Load) {
	stream := draw.Stream(p.source.Uint64())
	var best evenkeel.Load
	at, tied, need := -1, 0, p.d
	for i := 0; need > 0; i++ {
		if draw.Index(stream.Next(), v.Len()-i) >= need {
			continue
		}
		need--
		l := v.Load(i)
		switch {
		case at < 0 || l.Less(best):
			at, best, tied = i, l, 1
		case l.Equal(best):
			tied++
			if draw.Index(stream.Next(), tied) == 0 {
				at, best = i, l
			}
		}
	}
	return at, best
}
