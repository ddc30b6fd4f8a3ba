package roundrobin

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// at makes a balancer over backends 0 to n-1 whose counter stands at taken.
func at(t *testing.T, n int, taken uint64) *Balancer[int] {
	t.Helper()
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	pool, err := evenkeel.NewPool(evenkeel.Config{}, list...)
	require.NoError(t, err)
	p := &recorder{}
	lb := evenkeel.NewSeededDispatcher(pool, p, 1)
	_, err = lb.Pick() // makes the round
	require.NoError(t, err)
	p.round.taken.Store(taken)
	return lb
}

// recorder is the policy, and keeps the last round that it has prepared.
type recorder struct {
	Policy
	round *round
}

func (p *recorder) Prepare(v evenkeel.View, last any) any {
	prepared := p.Policy.Prepare(v, last)
	p.round = prepared.(*round)
	return prepared
}

// F171, F172: across the wrap of its counter, and where it would be negative if
// it were signed, round robin stays in range, goes on by one, and takes a backend
// twice in a row at most once.
func TestF171F172CounterWraps(t *testing.T) {
	for n := 1; n <= 17; n++ {
		for _, from := range []uint64{math.MaxUint64 - 40, 1<<63 - 40, math.MaxUint32 - 40} {
			t.Run(fmt.Sprintf("n=%d,from=%d", n, from), func(t *testing.T) {
				lb := at(t, n, from)
				last, again, skipped := -1, 0, 0
				for range 100 {
					b, err := lb.Pick()
					require.NoError(t, err)
					require.Less(t, b, n)
					if last >= 0 && n > 1 {
						switch b {
						case last:
							again++
						case (last + 1) % n:
						default:
							skipped++
						}
					}
					last = b
				}
				if from < math.MaxUint64-40 {
					assert.Zero(t, again+skipped, "there is no wrap here")
				}
				assert.LessOrEqual(t, again+skipped, 1)
			})
		}
	}
}
