package hashing

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/dgryski/go-rendezvous"
	"github.com/kkdai/maglev"
	"github.com/serialx/hashring"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A method makes the function from a key to a backend.
type method struct {
	name string
	make func(t testing.TB, backends []string) func(key string) string
}

// points is how many a server has on the ring.
const points = 160

var methods = []method{
	{"carp", func(t testing.TB, backends []string) func(string) string { return leased(t, backends, 0) }},
	{"carp, unbounded", func(t testing.TB, backends []string) func(string) string {
		return leased(t, backends, math.Inf(1))
	}},
	{"rendezvous (dgryski)", func(_ testing.TB, backends []string) func(string) string {
		return rendezvous.New(backends, xxhash.Sum64String).Lookup
	}},
	{"ring of 160, md5 (serialx)", func(_ testing.TB, backends []string) func(string) string {
		weights := map[string]int{} // a weight of 1 is one point
		for _, b := range backends {
			weights[b] = points
		}
		ring := hashring.NewWithWeights(weights)
		return func(key string) string {
			b, _ := ring.GetNode(key)
			return b
		}
	}},
	{"ring_hash (gRPC)", grpcRingHash},
	{"maglev of 65537 (kkdai)", func(t testing.TB, backends []string) func(string) string {
		table, err := maglev.NewMaglev(backends, 65537)
		require.NoError(t, err)
		return func(key string) string {
			b, err := table.Get(key)
			require.NoError(t, err)
			return b
		}
	}},
}

// leased is a whole call: the others look a name up, and count nothing.
func leased(t testing.TB, backends []string, factor float64) func(string) string {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, backends...)
	require.NoError(t, err)
	lb, err := carp.NewWith(pool, carp.Config{LoadFactor: factor})
	require.NoError(t, err)
	ctx := context.Background()
	return func(key string) string {
		lease, err := lb.LeaseFor(ctx, evenkeel.Call[string]{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		return lease.Backend()
	}
}

func servers(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("10.0.%d.%d:8080", i/250, i%250+1)
	}
	return list
}

func keys(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("/item/%d?view=full", i)
	}
	return list
}
