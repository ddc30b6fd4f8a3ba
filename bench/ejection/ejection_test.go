package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestShortRunIsRepeatable(t *testing.T) {
	var first, second bytes.Buffer
	require.NoError(t, run([]string{"-short", "-calls", "5000", "-n", "3"}, &first))
	require.NoError(t, run([]string{"-short", "-calls", "5000", "-n", "3"}, &second))
	assert.Equal(t, first.String(), second.String())
	for _, part := range []string{"Time and calls until", "by how many calls a second", "Backends that hang", "and the second:", "fail alike"} {
		assert.Contains(t, first.String(), part)
	}
}

func TestSeedIsWhatMakesTheDifference(t *testing.T) {
	var list []found
	for _, seed := range []uint64{1, 1, 2} {
		f, err := detect(scene{n: 3, k: 1, rate: 0.5, noise: noise, perBackend: 100, seed: seed})
		require.NoError(t, err)
		list = append(list, f)
	}
	assert.Equal(t, list[0], list[1])
	assert.NotEqual(t, list[0], list[2])
}

func TestAllPrintsEveryNAndK(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-short", "-all", "-n", "5", "-calls", "1000"}, &out))
	table, _, _ := strings.Cut(out.String(), "The same by")
	for _, want := range []string{"2  1  ", "3  1  ", "4  1  ", "4  2  ", "5  1  ", "5  2  "} {
		assert.Equal(t, len(rates), strings.Count(table, "\n"+want), want)
	}
}

// What ejection is meant to do, in numbers that leave room for other seeds.
func TestFailingBackendsAreFoundAndHealthyOnesAreNot(t *testing.T) {
	for _, c := range []struct {
		n, k  int
		rate  float64
		calls int // that it may cost at most, for each failing backend
		in    time.Duration
	}{
		{2, 1, 1, 9, 200 * time.Millisecond},
		{5, 2, 1, 20, 300 * time.Millisecond},
		{50, 25, 1, 40, 500 * time.Millisecond},
		{2, 1, 0.5, 200, 3 * time.Second},
		{10, 5, 0.5, 200, 3 * time.Second},
		{2, 1, 0.1, 1500, 15 * time.Second},
		{10, 5, 0.1, 1500, 15 * time.Second},
	} {
		f, err := detect(scene{n: c.n, k: c.k, rate: c.rate, noise: noise, perBackend: 100, seed: 11})
		require.NoError(t, err)
		s := f.summarize()
		assert.Zero(t, s.missed, "%+v", c)
		assert.Zero(t, s.wrong, "%+v", c)
		assert.Len(t, f.after, c.k)
		assert.LessOrEqual(t, s.worstCalls, c.calls, "%+v", c)
		assert.LessOrEqual(t, s.worst, c.in, "%+v", c)
	}
}

func TestNoFalseAlarms(t *testing.T) {
	for _, n := range []int{2, 10} {
		c, err := healthy(n, noise, 100, 50_000, 5)
		require.NoError(t, err)
		assert.Zero(t, c.ejections)
		assert.Equal(t, 50_000, c.calls)
		assert.InDelta(t, 500, c.failures, 100)
	}
}

func TestBadFlagsAreOneSentence(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-n=1", "-n is 1, but ejection takes at least 2 backends"},
		{"-repeat=0", "-repeat and -calls must be at least 1, and -hot at least 0"},
		{"-rate=-1", "-rate is -1, but must be within 0.1 to 100000"},
		{"-rate=NaN", "-rate is NaN, but must be within 0.1 to 100000"},
		{"-what", "flag provided but not defined: -what"},
		{"more", `"more" is no flag; there are no arguments`},
	} {
		var out bytes.Buffer
		require.EqualError(t, run([]string{c.args}, &out), c.want)
		assert.Empty(t, out.String())
	}
}

func TestHotPathMeasuresBoth(t *testing.T) {
	off, on, err := hotPath(2, 1000)
	require.NoError(t, err)
	assert.Positive(t, off)
	assert.Positive(t, on)
}

// BenchmarkCall is a lease and its end, with ejection off and on.
func BenchmarkCall(b *testing.B) {
	for name, off := range map[string]bool{"ejection=off": true, "ejection=on": false} {
		pool, err := evenkeel.NewPool(evenkeel.Config{Ejection: evenkeel.Ejection{Off: off}}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		require.NoError(b, err)
		lb, ctx := p2c.New(pool), context.Background()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				lease, err := lb.Lease(ctx)
				if err != nil {
					b.Fatal(err)
				}
				lease.Done(nil)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					lease, err := lb.Lease(ctx)
					if err != nil {
						b.Error(err)
						return
					}
					lease.Done(nil)
				}
			})
		})
	}
}
