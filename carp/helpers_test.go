package carp_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

// plain is a pool configuration in which nothing but the test changes the membership.
var plain = evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}, SlowStart: evenkeel.SlowStart{Off: true}}

func newPool(t testing.TB, cfg evenkeel.Config, backends ...string) *evenkeel.Pool[string] {
	t.Helper()
	pool, err := evenkeel.NewPool(cfg, backends...)
	require.NoError(t, err)
	return pool
}

// servers are the names of n backends.
func servers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("10.0.%d.%d:8080", i/250, i%250+1)
	}
	return list
}

// key is the text of the i-th key.
func key(i int) string { return fmt.Sprintf("/item/%d?view=full", i) }

func lease(t testing.TB, lb evenkeel.Balancer[string], key string, avoid ...string) (l evenkeel.Lease[string]) {
	t.Helper()
	l, err := lb.LeaseFor(context.Background(), evenkeel.Call[string]{Key: key, Avoid: avoid})
	require.NoError(t, err)
	return
}

// home is where the key's call goes at this moment. It leaves nothing in flight.
func home(t testing.TB, lb evenkeel.Balancer[string], key string, avoid ...string) string {
	t.Helper()
	l := lease(t, lb, key, avoid...)
	defer l.Release()
	return l.Backend()
}

// homes are the homes of the first n keys.
func homes(t testing.TB, lb evenkeel.Balancer[string], n int) []string {
	t.Helper()
	list := make([]string, n)
	for i := range list {
		list[i] = home(t, lb, key(i))
	}
	return list
}

// tally counts the homes in the order of the backends.
func tally(homes []string, backends []string) []int {
	place, counts := map[string]int{}, make([]int, len(backends))
	for i, b := range backends {
		place[b] = i
	}
	for _, h := range homes {
		counts[place[h]]++
	}
	return counts
}

// moved are the numbers of the keys whose home has changed.
func moved(before, after []string) (list []int) {
	for i := range before {
		if before[i] != after[i] {
			list = append(list, i)
		}
	}
	return list
}

// unbounded is plain rendezvous hashing.
func unbounded(t testing.TB, pool *evenkeel.Pool[string]) *carp.Balancer[string] {
	t.Helper()
	lb, err := carp.NewWith(pool, carp.Config{LoadFactor: math.Inf(1)})
	require.NoError(t, err)
	return lb
}

// clock is a pool's clock that the test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Unix(1_000_000, 0)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }
