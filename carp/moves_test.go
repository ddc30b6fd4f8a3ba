package carp_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
)

// many is the number of keys that the tests of moves look at.
const many = 100_000

// Removing one of n moves only that backend's keys, and spreads them over all others.
func TestRemovingMovesOnlyItsKeys(t *testing.T) {
	backends := servers(10)
	pool := newPool(t, plain, backends...)
	lb := carp.New(pool)
	before := homes(t, lb, many)
	gone, rest := backends[3], slices.Concat(backends[:3], backends[4:])
	require.NoError(t, pool.Replace(rest...))
	after := homes(t, lb, many)
	var taken []string
	for _, i := range moved(before, after) {
		require.Equal(t, gone, before[i], key(i))
		taken = append(taken, after[i])
	}
	assert.NotContains(t, after, gone)
	assert.InDelta(t, many/10, len(taken), 500)
	assert.NoError(t, chisq.Test(tally(taken, rest)))
}

// Adding one moves 1/(n+1) of the keys, and only to the newcomer.
func TestAddingMovesOnlyToTheNewcomer(t *testing.T) {
	backends := servers(11)
	pool := newPool(t, plain, backends[:10]...)
	lb := carp.New(pool)
	before := homes(t, lb, many)
	require.NoError(t, pool.Replace(backends...))
	after := homes(t, lb, many)
	list := moved(before, after)
	from := make([]string, len(list))
	for k, i := range list {
		require.Equal(t, backends[10], after[i], key(i))
		from[k] = before[i]
	}
	assert.InDelta(t, many/11, len(list), 500)
	assert.NoError(t, chisq.Test(tally(from, backends[:10])), "each gives its part")
}

// An ejected backend's keys spread over all others, and come home when it is back. The
// pool's other ways out are the same to a key.
func TestKeysComeHome(t *testing.T) {
	backends := servers(10)
	const out = 4
	for name, change := range map[string]struct {
		out, back func(*evenkeel.Pool[string]) error
	}{
		"ejected": {
			func(p *evenkeel.Pool[string]) error { return p.Eject(backends[out]) },
			func(p *evenkeel.Pool[string]) error { return p.Restore(backends[out]) },
		},
		"drained": {
			func(p *evenkeel.Pool[string]) error { return p.SetWeight(backends[out], 0) },
			func(p *evenkeel.Pool[string]) error { return p.SetWeight(backends[out], 1) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, plain, backends...)
			lb := carp.New(pool)
			before := homes(t, lb, many)
			require.NoError(t, change.out(pool))
			away := homes(t, lb, many)
			var taken []string
			for _, i := range moved(before, away) {
				require.Equal(t, backends[out], before[i])
				taken = append(taken, away[i])
			}
			assert.NoError(t, chisq.Test(tally(taken, slices.Concat(backends[:out], backends[out+1:]))))
			require.NoError(t, change.back(pool))
			assert.Empty(t, moved(before, homes(t, lb, many)))
		})
	}
}

// A call that avoids a backend goes where the key goes while that backend is out, and so on
// through the whole order.
func TestAvoidGoesToTheNextChoice(t *testing.T) {
	backends := servers(6)
	for _, weighted := range []bool{false, true} {
		pool := newPool(t, plain, backends...)
		if weighted {
			require.NoError(t, pool.SetWeight(backends[0], 3))
		}
		lb := carp.New(pool)
		for i := range 200 {
			var tried []string
			for range backends {
				next := home(t, lb, key(i))
				require.Equal(t, next, tryAgain(t, pool, lb, key(i), tried))
				tried = append(tried, next)
				if len(tried) < len(backends) {
					require.NoError(t, pool.Eject(next))
				}
			}
			for _, b := range tried {
				require.NoError(t, pool.Restore(b))
			}
		}
	}
}

// tryAgain is the home of a call that avoids what is out, where nothing is out.
func tryAgain(t *testing.T, pool *evenkeel.Pool[string], lb evenkeel.Balancer[string], key string, tried []string) string {
	t.Helper()
	for _, b := range tried {
		require.NoError(t, pool.Restore(b))
	}
	next := home(t, lb, key, tried...)
	for _, b := range tried {
		require.NoError(t, pool.Eject(b))
	}
	return next
}

// Neither the order of the members nor their history matters, nor who asks.
func TestOrderOfMembersDoesNotMatter(t *testing.T) {
	backends := servers(20)
	want := homes(t, carp.New(newPool(t, plain, backends...)), many/10)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(backends), func(i, j int) { backends[i], backends[j] = backends[j], backends[i] })
		pool := newPool(t, plain, "another")
		require.NoError(t, pool.Replace(backends...))
		assert.Equal(t, want, homes(t, unbounded(t, pool), many/10))
	}
}

// Weights of 1:2:3 get keys in that ratio.
func TestWeightsAreExact(t *testing.T) {
	pool := newPool(t, plain, "A", "B", "C")
	require.NoError(t, pool.ReplaceMembers(
		evenkeel.Member[string]{Backend: "A", Weight: 1},
		evenkeel.Member[string]{Backend: "B", Weight: 2},
		evenkeel.Member[string]{Backend: "C", Weight: 3}))
	counts := tally(homes(t, carp.New(pool), 6*many), []string{"A", "B", "C"})
	assert.NoError(t, chisq.Test(counts, 1, 2, 3))
}

// A weight that is raised moves keys to its backend only; what all weigh together changes
// nothing.
func TestRaisedWeightOnlyAttracts(t *testing.T) {
	backends := servers(5)
	pool := newPool(t, plain, backends...)
	lb := carp.New(pool)
	equal := homes(t, lb, many)
	require.NoError(t, pool.SetWeight(backends[2], 2))
	raised := homes(t, lb, many)
	list := moved(equal, raised)
	for _, i := range list {
		require.Equal(t, backends[2], raised[i])
	}
	assert.InDelta(t, many*(2.0/6-1.0/5), len(list), 700)
	for i, b := range backends {
		w := 7.0
		if i == 2 {
			w = 14
		}
		require.NoError(t, pool.SetWeight(b, w))
	}
	assert.Empty(t, moved(raised, homes(t, lb, many)))
}

// The fullest of 10 backends is within 2 % of fair over a million keys.
func TestSpread(t *testing.T) {
	backends := servers(10)
	counts := tally(homes(t, carp.New(newPool(t, plain, backends...)), 10*many), backends)
	assert.NoError(t, chisq.Test(counts))
	assert.Less(t, slices.Max(counts), many*102/100)
	assert.Greater(t, slices.Min(counts), many*98/100)
}
