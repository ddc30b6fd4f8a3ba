package evenkeel

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// firstOne takes the first backend, by its load or without a look.
type firstOne struct{ looks bool }

func (p firstOne) Choose(v View) (int, Load) {
	if p.looks {
		return 0, v.Load(0)
	}
	return 0, Load{}
}

// age lets so many leases have begun and ended on a member since it was made, and leaves the
// half turns as they were counted.
func age(m *member[string], begun uint64) {
	more := begun - m.begun()
	m.word.Add(more << 32)
	m.released.Add(more)
	m.pool.mu.Lock()
	m.newEra(0)
	m.pool.mu.Unlock()
}

// The start numbers of leases go on past every multiple of 2^31, whichever way a lease
// begins, and the rules that compare them hold there.
func TestStartNumbersNeverTurn(t *testing.T) {
	broken := errors.New("broken")
	for _, limit := range []int{0, 5} {
		for _, looks := range []bool{false, true} {
			pool, err := NewPool(Config{MaxInFlight: limit}, "A", "B")
			require.NoError(t, err)
			lb := NewDispatcher(pool, firstOne{looks})
			a := pool.index["A"]
			lease := func() *Lease[string] {
				l, err := lb.Lease(t.Context())
				require.NoError(t, err)
				require.Equal(t, "A", l.Backend())
				return &l
			}
			for half := uint64(1); half <= 6; half++ {
				before := half<<31 - 4
				age(a, before)
				require.Equal(t, before, a.begun())

				old := lease() // it ends beyond the turn
				for n := before + 2; n <= before+8; n++ {
					l := lease()
					require.Equal(t, n, a.begun(), "limit %d, looks %v, %d halves", limit, looks, half)
					require.Equal(t, n, a.full(l.start))
					l.Done(nil)
				}
				require.Equal(t, 7*half, a.successes())
				require.Equal(t, before+1, a.full(old.start))
				old.Done(broken) // older than the successes: no part of a run
				for k := range 5 {
					require.Equal(t, phaseIn, a.phase, "failure %d", k)
					lease().Done(broken)
				}
				require.Equal(t, phaseOut, a.phase)
				require.NoError(t, pool.Restore("A"))
			}
		}
	}
}

// The number of half turns follows the start number, and may be one behind when they are
// read.
func TestHalfTurnsMayLag(t *testing.T) {
	for half := range uint64(6) {
		for _, n := range []uint64{half << 31, half<<31 + 1, half<<31 + 1<<30} {
			assert.Equal(t, n, wide(half, uint32(n)))
			if half > 0 {
				assert.Equal(t, n, wide(half-1, uint32(n)), "read before the turn was counted")
			}
		}
		assert.Equal(t, half<<31+1<<31-1, wide(half, uint32(half<<31+1<<31-1)))
	}
}

// A success that ends late leaves the order to the newer one.
func TestNewestSuccessStays(t *testing.T) {
	pool, err := NewPool(Config{}, "A")
	require.NoError(t, err)
	a := pool.index["A"]
	age(a, 100)
	a.succeeded(90)
	assert.Equal(t, uint64(90), a.newest.Load())
	a.succeeded(80)
	assert.Equal(t, uint64(90), a.newest.Load())
	a.succeeded(95)
	assert.Equal(t, uint64(95), a.newest.Load())
}

// ejector takes the first backend out while it chooses it, without a look at its load.
type ejector struct{ pool *Pool[string] }

func (p ejector) Choose(v View) (int, Load) {
	if v.Len() > 1 {
		_ = p.pool.Eject(v.Backend(0).(string))
	}
	return 0, Load{}
}

// A call that was begun on a backend as that left the rotation is no success of it.
func TestCallThatDidNotBeginIsNoSuccess(t *testing.T) {
	pool, err := NewPool(Config{}, "A", "B")
	require.NoError(t, err)
	lease, err := NewDispatcher(pool, ejector{pool}).Lease(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "B", lease.Backend())
	lease.Release()
	assert.Zero(t, pool.index["A"].successes())
	assert.Zero(t, pool.InFlight("A"))
}
