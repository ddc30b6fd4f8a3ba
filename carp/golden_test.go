package carp_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/order.txt anew, which moves the keys of all users")

// The order of the backends for a key is the same on every machine and in every version.
// The file was written once; a change that needs another one moves the keys of all users.
func TestGoldenOrder(t *testing.T) {
	texts := []string{"a", "user:42", "/index.html", "/search?q=caf\u00e9&page=2", strings.Repeat("0123456789", 10), "\x00\xff"}
	for i := range 60 {
		texts = append(texts, key(i))
	}
	var out strings.Builder
	for _, weights := range [][]float64{nil, {1, 2, 3, 0.25, 10}} {
		backends := servers(5)
		pool := newPool(t, plain, backends...)
		for i, w := range weights {
			require.NoError(t, pool.SetWeight(backends[i], w))
		}
		writeOrders(t, &out, carp.New(pool), weights, texts, backends)
	}
	numbers, err := evenkeel.NewPool(plain, 1, 2, 3, 4, 5)
	require.NoError(t, err)
	writeOrders(t, &out, carp.New(numbers), "numbers", texts, []int{1, 2, 3, 4, 5})
	const file = "testdata/order.txt"
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), out.String())
}

// writeOrders writes one line for each key: the places of the backends in its order.
func writeOrders[T comparable](t *testing.T, out *strings.Builder, lb *carp.Balancer[T], title any, keys []string, backends []T) {
	t.Helper()
	fmt.Fprintln(out, "#", title)
	for _, k := range keys {
		var order []T
		for range backends {
			l, err := lb.LeaseFor(t.Context(), evenkeel.Call[T]{Key: k, Avoid: order})
			require.NoError(t, err)
			order = append(order, l.Backend())
			l.Release()
		}
		fmt.Fprintf(out, "%q", k)
		for _, b := range order {
			for i := range backends {
				if backends[i] == b {
					fmt.Fprint(out, " ", i)
				}
			}
		}
		fmt.Fprintln(out)
	}
}
