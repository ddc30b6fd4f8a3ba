package evenkeel_test

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
)

// A preparer remembers what a policy is given: the memberships to prepare for, and at
// each choice what was prepared and the key. It takes the first backend.
type preparer struct {
	name     string
	sizes    []int
	last     []any
	prepared []any
	keys     []string
}

func (p *preparer) Prepare(v evenkeel.View, last any) any {
	p.sizes, p.last = append(p.sizes, v.Len()), append(p.last, last)
	return p.name + string(rune('0'+len(p.sizes)))
}

func (p *preparer) Choose(v evenkeel.View) (int, evenkeel.Load) {
	p.prepared, p.keys = append(p.prepared, v.Prepared()), append(p.keys, v.Key())
	return 0, evenkeel.Load{}
}

// A policy prepares once for each membership, and is given what it prepared last.
func TestPrepareOncePerMembership(t *testing.T) {
	pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "A", "B", "C")
	p, other := &preparer{name: "p"}, &preparer{name: "o"}
	lb, beside := evenkeel.NewDispatcher(pool, p), evenkeel.NewDispatcher(pool, other)
	pick := func(lb evenkeel.Balancer[string]) {
		t.Helper()
		_, err := lb.Pick()
		require.NoError(t, err)
	}
	pick(lb)
	pick(lb)
	pick(lb)
	require.NoError(t, pool.Replace("A", "B"))
	pick(lb)
	pick(lb)
	assert.Equal(t, []int{3, 2}, p.sizes)
	assert.Equal(t, []any{nil, "p1"}, p.last)
	assert.Equal(t, []any{"p1", "p1", "p1", "p2", "p2"}, p.prepared)

	pick(beside)
	pick(lb)
	assert.Equal(t, []any{nil}, other.last, "another dispatcher prepares for itself")
	assert.Equal(t, []any{"o1"}, other.prepared)
	assert.Equal(t, "p2", p.prepared[5])

	require.NoError(t, pool.SetWeight("B", 2))
	pick(lb)
	assert.Equal(t, []any{nil, "p1", "p2"}, p.last, "a new weight makes a new membership")
}

// For a part of the membership nothing is prepared.
func TestNothingIsPreparedForAPart(t *testing.T) {
	for _, limit := range []int{0, 2} {
		pool := newPool(t, evenkeel.Config{MaxInFlight: limit}, "A", "B", "C")
		p := &preparer{name: "p"}
		lb := evenkeel.NewDispatcher(pool, p)
		for _, avoid := range []string{"A", "none", "B"} {
			lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Avoid: []string{avoid}})
			require.NoError(t, err)
			assert.NotEqual(t, avoid, lease.Backend())
			lease.Release()
		}
		assert.Equal(t, []int{3}, p.sizes)
		assert.Equal(t, []any{nil, "p1", nil}, p.prepared)
	}
}

// A policy sees the key of the call, also of one that has waited.
func TestPolicySeesTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 1}, "A", "B")
		p := &preparer{}
		lb := evenkeel.NewDispatcher(pool, p)
		a, err := lb.Lease(t.Context())
		require.NoError(t, err)
		b, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Key: "one"})
		require.NoError(t, err)
		assert.Equal(t, []string{"", "one"}, p.keys)
		go func() {
			c, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Key: "two"})
			assert.NoError(t, err)
			c.Release()
		}()
		synctest.Wait()
		p.keys = nil
		require.NoError(t, pool.Replace("A", "B", "C", "D")) // two places: the policy has a choice
		synctest.Wait()
		assert.Equal(t, []string{"two"}, p.keys)
		a.Release()
		b.Release()
	})
}

type named string

// hashes are what View.Hash says of the backends, in their order.
func hashes[T comparable](t *testing.T, cfg evenkeel.Config, backends ...T) (list []uint64) {
	t.Helper()
	pool, err := evenkeel.NewPool(cfg, backends...)
	require.NoError(t, err)
	_, err = evenkeel.NewDispatcher(pool, viewer(func(v evenkeel.View) int {
		for i := range v.Len() {
			list = append(list, v.Hash(i))
		}
		return 0
	})).Pick()
	require.NoError(t, err)
	return list
}

// The hash of a backend is made of its name, so that it is the same in every pool of
// every process on every machine.
func TestHashOfABackend(t *testing.T) {
	want := hashes(t, evenkeel.Config{}, "10.0.0.1:80", "10.0.0.2:80")
	assert.Equal(t, []uint64{0xdbbc907f21531a73, 0x430384be1c79a49d}, want, "nowhere another")
	assert.Equal(t, want, hashes(t, evenkeel.Config{}, named("10.0.0.1:80"), "10.0.0.2:80"))
	assert.Equal(t, want, hashes(t, evenkeel.Config{}, netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("10.0.0.2:80")))
	assert.Equal(t, hashes(t, evenkeel.Config{}, 7, 8), hashes(t, evenkeel.Config{}, uint8(7), 8))

	own := evenkeel.Config{Hash: func(b any) uint64 { return uint64(len(b.(string))) }}
	assert.Equal(t, []uint64{1, 3}, hashes(t, own, "a", "abc"))
}
