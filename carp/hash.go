package carp

import (
	"math"
	"math/bits"
)

// What a key becomes must never change: another hash would move all keys of all users, and
// two programs of different versions would disagree. So these few lines are ours: package
// hash/maphash differs from process to process, hash/fnv takes a step for each byte, and a
// module would be the first that evenkeel depends on. XXH64 is specified with test vectors
// (github.com/Cyan4973/xxHash, doc/xxhash_spec.md), so other languages can compute it too.

const (
	prime1 uint64 = 0x9e3779b185ebca87
	prime2 uint64 = 0xc2b2ae3d27d4eb4f
	prime3 uint64 = 0x165667b19e3779f9
	prime4 uint64 = 0x85ebca77c2b2ae63
	prime5 uint64 = 0x27d4eb2f165667c5
)

// hash is XXH64 with seed 0.
func hash(text string) uint64 {
	h, rest := prime5, text
	if len(text) >= 32 {
		p1, p2 := prime1, prime2 // variables, since the sums overflow
		a, b, c, d := p1+p2, p2, uint64(0), -p1
		for len(rest) >= 32 {
			a, b = lane(a, word(rest)), lane(b, word(rest[8:]))
			c, d = lane(c, word(rest[16:])), lane(d, word(rest[24:]))
			rest = rest[32:]
		}
		h = bits.RotateLeft64(a, 1) + bits.RotateLeft64(b, 7) + bits.RotateLeft64(c, 12) + bits.RotateLeft64(d, 18)
		for _, v := range [4]uint64{a, b, c, d} {
			h = (h^lane(0, v))*prime1 + prime4
		}
	}
	h += uint64(len(text))
	for ; len(rest) >= 8; rest = rest[8:] {
		h = bits.RotateLeft64(h^lane(0, word(rest)), 27)*prime1 + prime4
	}
	if len(rest) >= 4 {
		half := uint64(rest[0]) | uint64(rest[1])<<8 | uint64(rest[2])<<16 | uint64(rest[3])<<24
		h = bits.RotateLeft64(h^half*prime1, 23)*prime2 + prime3
		rest = rest[4:]
	}
	for i := range len(rest) {
		h = bits.RotateLeft64(h^uint64(rest[i])*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

func lane(acc, input uint64) uint64 {
	return bits.RotateLeft64(acc+input*prime2, 31) * prime1
}

// word is the text's first 8 bytes. The compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// mix makes every bit of the result depend on all bits of z: splitmix64's finaliser
// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// join hashes a key's and a backend's hash together, in one multiplication: the product's
// halves folded into one, as wyhash does (Wang Yi, github.com/wangyi-fudan/wyhash). Both must
// be well mixed.
func join(key, name uint64) uint64 {
	high, low := bits.Mul64(key^name, name^gamma)
	return high ^ low
}

const gamma = 0x9e3779b97f4a7c15

// unit maps a hash to a number between 0 and 1, exclusive, that is a multiple of 2^-53: so 1
// minus it is exact.
func unit(h uint64) float64 { return (float64(h>>12) + 0.5) / (1 << 52) }

// odd are 1, 1/3, 1/5, ...
var odd = func() (list [12]float64) {
	for i := range list {
		list[i] = 1 / float64(2*i+1)
	}
	return list
}()

// minusLog1 is -ln(1-x) for x between 0 and 1, and never below x. Package math's logarithm
// may differ in the last bit between machines: some have assembly for it, and on some the
// compiler fuses a product with a sum. The conversions here forbid that.
func minusLog1(x float64) float64 {
	f, exp := math.Frexp(1 - x)
	if f < math.Sqrt2/2 {
		f *= 2
		exp--
	}
	s := (f - 1) / (f + 1) // ln f = 2 (s + s^3/3 + s^5/5 + ...), where |s| is below 0.172
	z, sum := float64(s*s), 0.0
	for i := len(odd) - 1; i >= 0; i-- {
		sum = odd[i] + float64(z*sum)
	}
	return max(-(float64(float64(exp)*math.Ln2) + float64(2*s*sum)), x)
}
