package draw

import "math/bits"

// An AliasTable draws an index in proportion to weights in constant time (Vose,
// "A linear algorithm for generating random numbers with a given distribution",
// 1991). It is built in linear time and never changes, so it may be used from many
// goroutines at once. Make one with NewAliasTable.
//
// There are as many columns as weights, each of them as likely as any other. A
// column stands for its own index with one probability, and else for one other.
type AliasTable struct {
	keep  []float64 // probability that column i stands for i itself
	other []int32   // else it stands for this one
}

// NewAliasTable returns a table for the given weights, which must be finite, 0 or
// more, and not all 0. An index of weight 0 is never drawn. There must be at least
// one weight and at most math.MaxInt32.
func NewAliasTable(weights []float64) *AliasTable {
	n := len(weights)
	t := &AliasTable{keep: make([]float64, n), other: make([]int32, n)}
	scaled := scale(weights)
	var small, large []int32 // columns below their share of 1, and the others
	for i, w := range scaled {
		if w < 1 {
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

// scale returns the weights in a scale in which their mean is 1. It divides by the
// greatest first, since the sum of all may be more than a float64 holds.
func scale(weights []float64) []float64 {
	var most, sum float64
	for _, w := range weights {
		most = max(most, w)
	}
	scaled := make([]float64, len(weights))
	for i, w := range weights {
		scaled[i] = w / most
		sum += scaled[i]
	}
	for i := range scaled {
		scaled[i] = scaled[i] / sum * float64(len(weights))
	}
	return scaled
}

// Draw maps one draw to an index. It allocates nothing.
func (t *AliasTable) Draw(u uint64) int {
	hi, rest := bits.Mul64(u, uint64(len(t.keep)))
	if Unit(rest) < t.keep[hi] {
		return int(hi)
	}
	return int(t.other[hi])
}
