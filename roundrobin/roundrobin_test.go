package roundrobin_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/chisq"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/roundrobin"
)

func TestConformance(t *testing.T) {
	lbtest.Run(t, roundrobin.New[string])
}

func newPool(t *testing.T, backends ...string) *evenkeel.Pool[string] {
	t.Helper()
	pool, err := evenkeel.NewPool(evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, backends...)
	require.NoError(t, err)
	return pool
}

func letters(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = string(rune('A' + i))
	}
	return list
}

func pick(t *testing.T, lb evenkeel.Balancer[string]) string {
	t.Helper()
	b, err := lb.Pick()
	require.NoError(t, err)
	return b
}

// sequence is n picks in one string.
func sequence(t *testing.T, lb evenkeel.Balancer[string], n int) (s string) {
	t.Helper()
	for range n {
		s += pick(t, lb)
	}
	return s
}

// F017: with any of five ejected, every window of as many picks as there are
// backends in has each of them once; the neighbour of one that is out gets no
// more.
func TestF017ExactWithAnySubsetEjected(t *testing.T) {
	for in := 1; in < 32; in++ {
		pool := newPool(t, letters(5)...)
		lb := must(roundrobin.NewWith(pool, roundrobin.Config{Seed: uint64(in)}))
		pick(t, lb)
		n := 0
		for i, b := range letters(5) {
			if in>>i&1 == 0 {
				require.NoError(t, pool.Eject(b))
			} else {
				n++
			}
		}
		s := sequence(t, lb, 6*n)
		for from := range len(s) - n + 1 {
			seen := map[rune]bool{}
			for _, b := range s[from : from+n] {
				seen[b] = true
				require.NotZero(t, in>>(b-'A')&1, "%c is out", b)
			}
			require.Len(t, seen, n, "in: %05b: %s", in, s)
		}
	}
}

// The same from many goroutines: no turn is lost or given twice.
func TestExactFromManyGoroutines(t *testing.T) {
	for _, n := range []int{1, 3, 7} {
		pool := newPool(t, letters(n)...)
		lb := roundrobin.New(pool)
		var mu sync.Mutex
		counts := map[string]int{}
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				own := map[string]int{}
				for range 250 * n {
					lease, err := lb.Lease(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					own[lease.Backend()]++
					lease.Release()
				}
				mu.Lock()
				defer mu.Unlock()
				for b, c := range own {
					counts[b] += c
				}
			})
		}
		all.Wait()
		for _, b := range letters(n) {
			assert.Equal(t, 16*250, counts[b], "%s of %d", b, n)
		}
		lbtest.RequireIdle(t, pool)
	}
}

// F019: one call advances by one, whether it is a Pick or a Lease, and looking at
// the pool by none.
func TestF019OneAdvanceACall(t *testing.T) {
	pool := newPool(t, "A", "B")
	lb := roundrobin.New(pool)
	counts := map[string]int{}
	for range 1000 {
		lease, err := lb.Lease(t.Context())
		require.NoError(t, err)
		counts[lease.Backend()]++
		for b := range pool.All() {
			_ = pool.InFlight(b)
		}
		_ = pool.Backlog()
		lease.Done(nil)
	}
	assert.Equal(t, map[string]int{"A": 500, "B": 500}, counts)
}

// The resume rule: after a change the round goes on behind the backend taken
// last; if that is gone, with the first one that stood behind it and is left.
func TestF024ResumeRule(t *testing.T) {
	at := func(last string, backends ...string) (*evenkeel.Pool[string], *roundrobin.Balancer[string]) {
		pool := newPool(t, backends...)
		lb := roundrobin.New(pool)
		for pick(t, lb) != last {
		}
		return pool, lb
	}
	for _, c := range []struct {
		name   string
		last   string
		change func(pool *evenkeel.Pool[string]) error
		want   string
	}{
		{"nothing", "B", func(p *evenkeel.Pool[string]) error { return p.Replace("A", "B", "C", "D") }, "CDAB"},
		{"the last one is ejected", "B", func(p *evenkeel.Pool[string]) error { return p.Eject("B") }, "CDA"},
		{"the next one is ejected", "B", func(p *evenkeel.Pool[string]) error { return p.Eject("C") }, "DAB"},
		{"one before it is ejected", "B", func(p *evenkeel.Pool[string]) error { return p.Eject("A") }, "CDB"},
		{"the last of the list is removed", "D", func(p *evenkeel.Pool[string]) error { return p.Replace("A", "B", "C") }, "ABC"},
		{"the last one and the next are removed", "B", func(p *evenkeel.Pool[string]) error { return p.Replace("A", "D") }, "DA"},
		{"one is added behind it", "B", func(p *evenkeel.Pool[string]) error { return p.Replace("A", "B", "E", "C", "D") }, "ECDAB"},
		{"one is added before it", "B", func(p *evenkeel.Pool[string]) error { return p.Replace("E", "A", "B", "C", "D") }, "CDEAB"},
		{"the order is another", "B", func(p *evenkeel.Pool[string]) error { return p.Replace("D", "B", "A", "C") }, "ACDB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool, lb := at(c.last, "A", "B", "C", "D")
			require.NoError(t, c.change(pool))
			assert.Equal(t, c.want, sequence(t, lb, len(c.want)))
		})
	}
}

// F026: when nobody is left of the old set, the round starts anywhere, so that
// many balancers whose servers are all exchanged do not meet at the first one.
func TestF026StartsAnywhereInANewSet(t *testing.T) {
	first := make([]int, 5)
	for seed := range uint64(1000) {
		pool := newPool(t, "V", "W")
		lb := must(roundrobin.NewWith(pool, roundrobin.Config{Seed: seed + 1}))
		pick(t, lb)
		require.NoError(t, pool.Replace(letters(5)...))
		first[pick(t, lb)[0]-'A']++
	}
	assert.NoError(t, chisq.Test(first))
}

// F024: while one backend flaps, with one pick between the flaps, the others go
// on in turn.
func TestF024Flapping(t *testing.T) {
	flaps := map[string][2]func(pool *evenkeel.Pool[string]) error{
		"ejected and restored": {
			func(p *evenkeel.Pool[string]) error { return p.Eject("B") },
			func(p *evenkeel.Pool[string]) error { return p.Restore("B") },
		},
		"removed and back": {
			func(p *evenkeel.Pool[string]) error { return p.Replace("A", "C", "D") },
			func(p *evenkeel.Pool[string]) error { return p.Replace("A", "B", "C", "D") },
		},
	}
	for name, flap := range flaps {
		for _, slow := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,slow start %v", name, slow), func(t *testing.T) {
				pool, err := evenkeel.NewPool(evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: !slow}}, "A", "B", "C", "D")
				require.NoError(t, err)
				lb := roundrobin.New(pool)
				for pick(t, lb) != "A" {
				}
				counts := map[string]int{}
				for i := range 200 {
					require.NoError(t, flap[i%2](pool))
					counts[pick(t, lb)]++
				}
				most, least := max(counts["A"], counts["C"], counts["D"]), min(counts["A"], counts["C"], counts["D"])
				assert.LessOrEqual(t, float64(most), 1.15*float64(least), "%v", counts)
			})
		}
	}
}

// renew makes a new version of the same set: something changes, but only on a
// backend that is out anyway.
func renew(t *testing.T, pool *evenkeel.Pool[string]) {
	if err := pool.Eject("out"); err != nil {
		t.Error(err)
	}
	if err := pool.Restore("out"); err != nil {
		t.Error(err)
	}
}

// However often the set changes between two picks, the round goes on. (1/49*49 is
// less than 1 in floating point.)
func TestGoesOnWhateverTheLengthOfTheRound(t *testing.T) {
	for heavy := 1; heavy <= 100; heavy++ {
		pool := newPool(t, "A", "B", "out")
		require.NoError(t, pool.SetWeight("A", float64(heavy)))
		require.NoError(t, pool.SetWeight("out", 0))
		lb := roundrobin.New(pool)
		counts := map[string]int{}
		for range heavy + 1 {
			counts[pick(t, lb)]++
			renew(t, pool)
		}
		require.Equal(t, map[string]int{"A": heavy, "B": 1}, counts, "weights %d and 1", heavy)
	}
}

// F026, F029: where the first round starts is a random one of its turns, by
// weight: of two with weights 99 and 1 the light one is first in 1 %.
func TestF029WeightedStart(t *testing.T) {
	pool := newPool(t, "A", "B")
	require.NoError(t, pool.SetWeight("A", 99))
	light := 0
	for seed := range uint64(20_000) {
		if pick(t, must(roundrobin.NewWith(pool, roundrobin.Config{Seed: seed + 1}))) == "B" {
			light++
		}
	}
	assert.InDelta(t, 0.01, float64(light)/20_000, 0.003)
}

func TestFirstIsUniform(t *testing.T) {
	pool := newPool(t, letters(7)...)
	counts := make([]int, 7)
	for seed := range uint64(14_000) {
		counts[pick(t, must(roundrobin.NewWith(pool, roundrobin.Config{Seed: seed + 1})))[0]-'A']++
	}
	assert.NoError(t, chisq.Test(counts))
}

// Where weights differ each backend has its exact number of turns in a round, and
// at no point of it is anyone further than a turn and a half from its share.
func TestSmoothWeightedOrder(t *testing.T) {
	for _, weights := range [][]float64{{5, 1, 1}, {3, 2, 1}, {7, 3}, {1, 1, 1, 9}, {4, 3, 2, 1, 1}, {0.5, 1.5, 1}, {10, 10, 1}} {
		unit := 1.0 // of a turn
		if weights[0] == 0.5 {
			unit = 0.5
		}
		pool := newPool(t, letters(len(weights))...)
		sum := 0.0
		for i, w := range weights {
			require.NoError(t, pool.SetWeight(letters(len(weights))[i], w))
			sum += w
		}
		round := int(math.Round(sum / unit))
		lb := must(roundrobin.NewWith(pool, roundrobin.Config{Seed: 3}))
		s := sequence(t, lb, 3*round)
		for from := range 2 * round {
			counts := map[byte]int{}
			for k := range round {
				counts[s[from+k]]++
				for i, w := range weights {
					share := w / sum * float64(k+1)
					require.Less(t, math.Abs(share-float64(counts[byte('A'+i)])), 2.0, "weights %v, from turn %d, after %d: %s", weights, from, k+1, s)
				}
			}
			for i, w := range weights {
				require.Equal(t, int(math.Round(w/unit)), counts[byte('A'+i)], "weights %v, any round: %s", weights, s)
			}
		}
	}
	pool := newPool(t, "A", "B", "C")
	require.NoError(t, pool.SetWeight("A", 5))
	lb := roundrobin.New(pool)
	for pick(t, lb) != "C" {
	}
	assert.NotContains(t, sequence(t, lb, 70), "AAAA", "turns are spread out")
}

// Weights whose exact round would be too long get the nearest one that is not.
func TestNearestRound(t *testing.T) {
	pool := newPool(t, "A", "B", "C")
	weights := map[string]float64{"A": math.Pi, "B": math.E, "C": math.Sqrt2}
	sum := 0.0
	for b, w := range weights {
		require.NoError(t, pool.SetWeight(b, w))
		sum += w
	}
	lb := roundrobin.New(pool)
	counts := map[string]int{}
	for range 20_000 {
		counts[pick(t, lb)]++
	}
	for b, w := range weights {
		assert.InDelta(t, w/sum, float64(counts[b])/20_000, 0.001, b)
	}
}

// F046: a change of weight takes effect at once, also after a very small one.
func TestF046WeightChangeTakesEffect(t *testing.T) {
	pool := newPool(t, "A", "B")
	require.NoError(t, pool.SetWeight("B", 0.001))
	lb := roundrobin.New(pool)
	sequence(t, lb, 100)
	require.NoError(t, pool.SetWeight("B", 1))
	counts := map[string]int{}
	for range 1000 {
		counts[pick(t, lb)]++
	}
	assert.Equal(t, map[string]int{"A": 500, "B": 500}, counts)
}

// A retry is not given to the neighbour of the one that failed, but to a random
// other one, and takes no turn.
func TestRetryTakesNoTurn(t *testing.T) {
	pool := newPool(t, letters(4)...)
	lb := must(roundrobin.NewWith(pool, roundrobin.Config{Seed: 6}))
	retried := make([]int, 4)
	for range 2000 {
		first := pick(t, lb)
		if first != "A" {
			continue
		}
		lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{"A"}})
		require.NoError(t, err)
		retried[lease.Backend()[0]-'A']++
		lease.Release()
		require.Equal(t, "B", pick(t, lb))
	}
	assert.NoError(t, chisq.Test(retried, 0, 1, 1, 1))
}

// While the set changes under them, many goroutines get nobody who is out and
// lose no count (lbtest); what the round's order is worth then, is that it goes
// on being shared: nobody falls behind.
func TestEvenWhileChanging(t *testing.T) {
	pool := newPool(t, append(letters(5), "out")...)
	require.NoError(t, pool.SetWeight("out", 0))
	lb := roundrobin.New(pool)
	counts := make([]int, 5)
	for i := range 20_000 {
		if i%7 == 0 {
			renew(t, pool)
		}
		b, err := lb.Pick()
		require.NoError(t, err)
		counts[b[0]-'A']++
	}
	for _, n := range counts {
		assert.InDelta(t, 4000, n, 10, "%v", counts)
	}

	// Nor is there an error when both happen at once.
	var callers, all sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		callers.Go(func() {
			for range 2000 {
				if _, err := lb.Pick(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				renew(t, pool)
			}
		}
	})
	callers.Wait()
	close(stop)
	all.Wait()
}

func Example() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "c")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := roundrobin.New(pool)
	got := map[string]int{}
	for range 300 {
		backend, err := lb.Pick()
		if err != nil {
			fmt.Println(err)
			return
		}
		got[backend]++
	}
	fmt.Println(got)
	// Output: map[a:100 b:100 c:100]
}

// must is for constructors that cannot fail as they are called.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
