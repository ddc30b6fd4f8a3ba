package p2c

import (
	"slices"

	"github.com/evenkeel-go/evenkeel"
)

// few is how many draws are kept apart by comparing each with all before it.
const few = 16

// chooseOfD is Choose for any number of looks, any number of backends, and any weights.
func chooseOfD(v evenkeel.View, d int) (int, evenkeel.Load) {
	n := v.Len()
	switch {
	case n == 1 || d == 1 || d < 0:
		return v.Draw(), evenkeel.Load{} // nothing to compare
	case d >= n:
		return v.Least()
	case d <= few:
		return drawFew(v, d)
	case v.Weighted():
		return v.Least() // more looks than asked for are no worse
	}
	return sample(v, d)
}

// drawFew draws one after the other, each different from those before, so the order is
// random and the first of equals is a random one of them. Where a few backends outweigh
// all others by far it may give up on finding D of them, but never looks at fewer than
// two.
func drawFew(v evenkeel.View, d int) (int, evenkeel.Load) {
	var drawn [few]int
	i, j := v.DrawTwo()
	at, best := v.Lesser(i, j)
	drawn[0], drawn[1] = i, j
	k := 2
	for tries := 0; k < d && tries < 64*few; tries++ {
		i := v.Draw()
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

// sample takes exactly D of n in one pass (selection sampling: Knuth, The Art of Computer
// Programming, vol. 2, algorithm 3.4.2 S). The pass is in order, so ties are broken by
// lot.
func sample(v evenkeel.View, d int) (int, evenkeel.Load) {
	var best evenkeel.Load
	at, tied, need := -1, 0, d
	for i := 0; need > 0; i++ {
		if v.RandN(v.Len()-i) >= need {
			continue
		}
		need--
		l := v.Load(i)
		switch {
		case at < 0 || l.Less(best):
			at, best, tied = i, l, 1
		case l.Equal(best):
			tied++
			if v.RandN(tied) == 0 {
				at, best = i, l
			}
		}
	}
	return at, best
}
