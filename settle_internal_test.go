package evenkeel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// turns takes the backends one after the other, so that all get the same.
type turns struct{ next *int }

func (p turns) Choose(v View) (int, Load) { *p.next++; return *p.next % v.Len(), Load{} }

// A publication costs in proportion to the members. So that all of them can change in
// proportion to their number, there must be about as many publications for a large pool as
// for a small one.
func TestPublicationsDoNotGrowWithThePool(t *testing.T) {
	for _, n := range []int{1_000, 3_000, 6_000} {
		now := time.Unix(0, 0)
		names := make([]int, n)
		for i := range names {
			names[i] = i
		}
		pool, err := NewPool(Config{Now: func() time.Time { return now }}, names...)
		require.NoError(t, err)
		published, last := 0, pool.snap.Load()
		look := func() {
			if s := pool.snap.Load(); s != last {
				published, last = published+1, s
			}
		}

		for _, err := range []error{errors.New("down"), nil} {
			for _, b := range names {
				require.NoError(t, pool.SetHealth(b, err))
				look()
			}
		}
		t.Logf("%d members: %d publications for the health of all", n, published)
		assert.LessOrEqual(t, published, 2*(atOnce+4), "health of %d members", n)

		now = now.Add(time.Hour)
		for i := range n / 3 {
			names[i] = n + i
		}
		require.NoError(t, pool.Replace(names...))
		last, published = pool.snap.Load(), 0
		lb := NewDispatcher(pool, turns{new(int)})
		for range 10 * n {
			now = now.Add(time.Minute / time.Duration(10*n))
			l, err := lb.Lease(context.Background())
			require.NoError(t, err)
			l.Done(nil)
			look()
		}
		t.Logf("%d members: %d publications for %d calls after a third was renewed", n, published, 10*n)
		assert.LessOrEqual(t, published, 12*atOnce, "a third of %d members renewed", n)
	}
}
