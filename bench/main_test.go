package bench

import (
	"fmt"
	"testing"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dispatcher is every policy's Balancer.
type dispatcher = evenkeel.Dispatcher[string]

// policies are those that are measured; seed 0 draws as a program does.
var policies = []struct {
	name string
	make func(pool *evenkeel.Pool[string], seed uint64) *dispatcher
}{
	{"random", func(pool *evenkeel.Pool[string], seed uint64) *dispatcher {
		return must(random.NewWith(pool, random.Config{Seed: seed}))
	}},
	{"roundrobin", func(pool *evenkeel.Pool[string], seed uint64) *dispatcher {
		return must(roundrobin.NewWith(pool, roundrobin.Config{Seed: seed}))
	}},
	{"p2c", func(pool *evenkeel.Pool[string], seed uint64) *dispatcher {
		return must(p2c.NewWith(pool, p2c.Config{Seed: seed}))
	}},
	{"sqf", func(pool *evenkeel.Pool[string], seed uint64) *dispatcher {
		return must(sqf.NewWith(pool, sqf.Config{Seed: seed}))
	}},
}

// sizes are the numbers of backends that are measured.
var sizes = []int{2, 10, 100, 1000, 10_000}

func newPool(tb testing.TB, cfg evenkeel.Config, n int) *evenkeel.Pool[string] {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("10.0.%d.%d:8080", i/256, i%256)
	}
	pool, err := evenkeel.NewPool(cfg, names...)
	require.NoError(tb, err)
	return pool
}

// requireInFlight checks that every backend has so many calls in flight.
func requireInFlight(tb testing.TB, pool *evenkeel.Pool[string], want int) {
	for name, stats := range pool.All() {
		if stats.InFlight != want {
			require.Equal(tb, want, stats.InFlight, "calls in flight on %s", name)
		}
	}
}

// must is for constructors that cannot fail as they are called.
func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}
