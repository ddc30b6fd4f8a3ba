package carp

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The values are those that the authors' xxhsum prints for these texts.
func TestHashIsXXH64(t *testing.T) {
	for text, want := range map[string]uint64{
		"":    0xef46db3751d8e999,
		"a":   0xd24ec4f1a98c6e5b,
		"abc": 0x44bc2cf5ad770999,
		"Nobody inspects the spammish repetition": 0xfbcea83c8a378bf1,
	} {
		assert.Equal(t, want, hash(text), text)
	}
	// Every length up to 199, folded into one number, as github.com/cespare/xxhash gives it.
	text, all := make([]byte, 200), uint64(0)
	for i := range text {
		text[i] = byte(i*7 + 1)
	}
	for n := range text {
		all = all*31 + hash(string(text[:n]))
	}
	assert.Equal(t, uint64(0x9953083e09355275), all)
}

// Any byte of a key counts, whatever the key's length.
func TestEveryByteCounts(t *testing.T) {
	text := make([]byte, 100)
	for n := range text {
		seen := map[uint64]bool{hash(string(text[:n])): true}
		for i := range n {
			text[i] = 1
			seen[hash(string(text[:n]))] = true
			text[i] = 0
		}
		assert.Len(t, seen, n+1, n)
	}
}

func TestMinusLog1(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(x float64) {
		got := minusLog1(x)
		assert.InEpsilon(t, -math.Log1p(-x), got, 1e-15, x)
		assert.GreaterOrEqual(t, got, x)
	}
	for range 10_000 {
		check(unit(random.Uint64()))
		check(unit(random.Uint64() >> random.IntN(52)))
	}
	check(unit(0))
	check(unit(math.MaxUint64))
	assert.Positive(t, unit(0))
	assert.Less(t, unit(math.MaxUint64), 1.0)
}
