// Package draw is where random choices come from: one source that is lock-free
// in both its forms, and the arithmetic that turns one 64-bit draw into indices.
package draw

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// Source gives 64-bit draws and is safe for concurrent use. Make one with
// NewSource; the zero Source is unseeded.
type Source struct {
	state *atomic.Uint64 // nil: unseeded
}

// NewSource returns a source. With seed 0 it is unseeded: it draws from
// math/rand/v2's global generator, which the runtime seeds afresh in every
// process. With any other seed the draws are a fixed sequence: splitmix64 (Steele,
// Lea, Flood, "Fast splittable pseudorandom number generators", 2014) started at
// seed.
func NewSource(seed uint64) Source {
	if seed == 0 {
		return Source{}
	}
	state := new(atomic.Uint64)
	state.Store(seed)
	return Source{state}
}

// IsSeeded reports whether the draws are a fixed sequence. Otherwise they are those of
// math/rand/v2's global generator, which a hot path may call by itself.
func (s *Source) IsSeeded() bool { return s.state != nil }

// Uint64 returns the next draw.
func (s *Source) Uint64() uint64 {
	if s.state == nil {
		return rand.Uint64()
	}
	return Mix(s.state.Add(gamma))
}

const gamma = 0x9e3779b97f4a7c15

// Mix is splitmix64's finaliser: a bijection whose output bits all depend on all
// input bits.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Stream stretches one draw into many, for a loop that needs a number per step:
// it is a value on the caller's stack and not safe for concurrent use.
type Stream uint64

// Next returns the stream's next 64 bits.
func (s *Stream) Next() uint64 {
	*s += gamma
	return Mix(uint64(*s))
}

// Index maps a draw to 0..n-1 by multiplication (Lemire, "Fast random integer
// generation in an interval", 2019). The deviation from uniform is below n/2^64,
// too small to be measured, so it is not corrected. n must be positive.
func Index(u uint64, n int) int {
	hi, _ := bits.Mul64(u, uint64(n))
	return int(hi)
}

// Two maps one draw to two different indices of 0..n-1, uniform over the n(n-1)
// ordered pairs up to a deviation below n²/2^64. n must be at least 2.
func Two(u uint64, n int) (i, j int) {
	hi, rest := bits.Mul64(u, uint64(n))
	lo, _ := bits.Mul64(rest, uint64(n-1))
	i, j = int(hi), int(lo)
	// j is one of the n-1 others: step over i if j >= i. Without a branch, for no
	// processor can foresee it.
	return i, j + 1 + (j-i)>>(bits.UintSize-1)
}

// Unit maps a draw to a float64 in [0, 1).
func Unit(u uint64) float64 { return float64(u>>11) / (1 << 53) }

// Hash is a 64-bit hash of a text, the same on every machine: FNV-1a (Fowler, Noll, Vo)
// with its bits mixed, since those of FNV alone are uneven for short texts. It is for
// names, not against an adversary.
func Hash(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return Mix(h)
}
