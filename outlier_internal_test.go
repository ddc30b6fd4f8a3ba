package evenkeel

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The two tails against sums of exact fractions.
func TestTailsAreExact(t *testing.T) {
	choose := func(n, k int64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).Binomial(n, k)) }
	for _, n := range []int64{1, 2, 5, 10, 40, 200} {
		for _, k := range []int64{1, 2, 5, 9, 40, 150} {
			if k > n {
				continue
			}
			p := big.NewRat(1, 50)
			q := new(big.Rat).Sub(big.NewRat(1, 1), p)
			pow := func(x *big.Rat, e int64) *big.Rat {
				y := big.NewRat(1, 1)
				for range e {
					y.Mul(y, x)
				}
				return y
			}
			sum := new(big.Rat)
			for i := k; i <= n; i++ {
				term := choose(n, i)
				sum.Add(sum, term.Mul(term, new(big.Rat).Mul(pow(p, i), pow(q, n-i))))
			}
			want, _ := sum.Float64()
			if float64(k) > float64(n)*0.02 {
				assert.InEpsilon(t, math.Log(want), lnBinomialTail(float64(k), float64(n), 0.02), 1e-6, "%d of %d", k, n)
			}
			for _, c := range []int64{1, 10, 300} {
				for _, f := range []int64{0, 1, 7} {
					if f > c || k*c <= f*n {
						continue
					}
					sum := new(big.Rat)
					for i := k; i <= min(n, k+f); i++ {
						sum.Add(sum, new(big.Rat).Mul(choose(k+f, i), choose(n+c-k-f, n-i)))
					}
					want, _ := sum.Quo(sum, choose(n+c, n)).Float64()
					got := lnFisherTail(float64(k), float64(n), float64(f), float64(c))
					assert.InDelta(t, math.Log(want), got, 1e-6*math.Abs(math.Log(want))+1e-9, "%d of %d against %d of %d", k, n, f, c)
				}
			}
		}
	}
	assert.Zero(t, lnFisherTail(5, 5, 0, 0), "nobody to compare with")
	assert.Zero(t, lnFisherTail(5, 10, 50, 100), "no worse than the others")
	assert.False(t, math.IsNaN(lnBinomialTail(0, 0, 0.02)))
	assert.False(t, math.IsNaN(lnBinomialTail(10, 10, 0)))
	assert.False(t, math.IsNaN(lnFisherTail(1e6, 1e6, 0, 1e6)))
}

// Successes are spread over the time since the counter was last read, and what is
// older than the window does not count.
func TestWindow(t *testing.T) {
	const length = 10 * time.Second
	var w window
	w.reset(100, 0)
	w.roll(time.Second, length, 150)
	good, bad := w.sum(time.Second, length)
	assert.Equal(t, [2]float64{50, 0}, [2]float64{good, bad})
	w.fail(time.Second, length)
	w.roll(21*time.Second, length, 150+200) // 10 a second
	good, bad = w.sum(21*time.Second, length)
	assert.InDelta(t, 100, good, 11, "those of the last window, in whole buckets")
	assert.Zero(t, bad)
	w.reset(350, 21*time.Second)
	good, bad = w.sum(21*time.Second, length)
	assert.Zero(t, good+bad)
	w.roll(22*time.Second, length, 350)
	w.roll(22*time.Second, length, math.MaxUint32)
	w.roll(22*time.Second, length, 9) // the counter wraps
	good, _ = w.sum(22*time.Second, length)
	assert.InDelta(t, math.MaxUint32-350+10, good, 1)
}

// F079: one failure of one call is no failure rate, and members without calls
// have no say.
func TestF079LowVolume(t *testing.T) {
	var now time.Time
	backends := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	pool, err := NewPool(Config{Now: func() time.Time { return now }}, backends...)
	require.NoError(t, err)
	outcome := func(b int, err error) {
		m := pool.index[b]
		start, _ := m.count(Load{})
		l := Lease[int]{m: m, start: start, ctx: t.Context()}
		l.Done(err)
	}
	for i := range 100 {
		now = now.Add(10 * time.Millisecond)
		for b := 5; b < 10; b++ {
			if b == 9 && i%50 == 0 {
				outcome(b, ErrNil) // 98 %
			} else {
				outcome(b, nil)
			}
		}
	}
	outcome(0, ErrNil)
	for b, s := range pool.All() {
		assert.Equal(t, StateIn, s.State, b)
	}
	for range 4 { // with zero spread among the rest, few calls are still few
		outcome(1, ErrNil)
	}
	assert.Equal(t, StateIn, pool.index[1].state())
}
