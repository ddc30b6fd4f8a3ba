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
func unit(h uint64) float64 { return (float64(int64(h>>12)) + 0.5) / (1 << 52) }

// minusLog1 is -ln(1-x) for a multiple x of 2^-53 between 0 and 1, and never below x. It is
// FreeBSD's algorithm (e_log.c), as in package math, whose own results may differ in the last
// bit between machines: some have assembly for it, and on some the compiler fuses a product
// with a sum. The conversions here forbid that.
func minusLog1(x float64) float64 {
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860510658591e-01
	)
	raw := math.Float64bits(1 - x) // which is 2^exp times a number from 1/2 to 1
	exp := int(raw>>52) - 1022
	f := math.Float64frombits(raw&(1<<52-1) | 1022<<52)
	if f < math.Sqrt2/2 {
		f *= 2
		exp--
	}
	f--
	s := f / (2 + f)
	z := float64(s * s)
	w := float64(z * z)
	odd := float64(z * (l1 + float64(w*(l3+float64(w*(l5+float64(w*l7)))))))
	even := float64(w * (l2 + float64(w*(l4+float64(w*l6)))))
	half := float64(float64(0.5*f) * f)
	log := f - (half - float64(s*(half+odd+even)))
	return max(-(log + float64(float64(exp)*math.Ln2)), x)
}
