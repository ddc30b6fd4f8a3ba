package sim

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// A Stream is a sequence of random numbers that is the same on every machine.
// Make one with NewStream. It is not safe for concurrent use.
type Stream struct {
	pcg   rand.PCG
	spare float64 // the other one of a pair of normal numbers
	has   bool
}

// NewStream returns the stream with this seed and this name; streams with
// different names are independent of each other under the same seed.
func NewStream(seed, name uint64) *Stream {
	s := &Stream{}
	s.pcg.Seed(seed, name)
	return s
}

// Uint64 returns the next 64 random bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// Intn returns a uniform number of 0..n-1. n must be positive.
func (s *Stream) Intn(n int) int {
	hi, _ := bits.Mul64(s.pcg.Uint64(), uint64(n))
	return int(hi)
}

// Unit returns a uniform number above 0 and at most 1.
func (s *Stream) Unit() float64 { return (float64(s.pcg.Uint64()>>11) + 1) * 0x1p-53 }

// Exp returns an exponential number with mean 1.
func (s *Stream) Exp() float64 { return -portableLog(s.Unit()) }

// Normal returns a normal number with mean 0 and standard deviation 1, by
// Marsaglia's polar method.
func (s *Stream) Normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		u, v := 2*s.Unit()-1, 2*s.Unit()-1
		q := float64(u*u) + float64(v*v)
		if q == 0 || q >= 1 {
			continue
		}
		f := math.Sqrt(-2 * portableLog(q) / q)
		s.spare, s.has = float64(v*f), true
		return float64(u * f)
	}
}
