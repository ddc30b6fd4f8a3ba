package hashing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func BenchmarkPick(b *testing.B) {
	list := keys(4096)
	for _, n := range []int{10, 100, 1000} {
		for _, m := range methods {
			b.Run(fmt.Sprintf("%s/n=%d", m.name, n), func(b *testing.B) {
				pick := m.make(b, servers(n))
				for _, key := range list { // gRPC connects at the first pick
					pick(key)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					pick(list[i%len(list)])
				}
			})
		}
	}
}

// BenchmarkBuild is a change of the members, up to the first pick after it.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, m := range methods {
			b.Run(fmt.Sprintf("%s/n=%d", m.name, n), func(b *testing.B) {
				backends := servers(n)
				b.ReportAllocs()
				for b.Loop() {
					m.make(b, backends)("key")
				}
			})
		}
	}
}

// TestSpreadAndMoves prints, for each method, the fullest and the emptiest of 10 and of 100
// backends over a million keys, and how many keys more than it must move when one backend
// leaves. carp is checked: it moves none, and its fullest of 10 is within 2 % of fair.
func TestSpreadAndMoves(t *testing.T) {
	list := keys(1_000_000)
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-30s %5s %9s %9s %14s\n", "method", "n", "fullest", "emptiest", "needless moves")
	for _, n := range []int{10, 100} {
		for _, m := range methods {
			all := servers(n)
			before, after := m.make(t, all), m.make(t, slices.Concat(all[:3], all[4:]))
			counts, needless := map[string]int{}, 0
			for _, key := range list {
				home := before(key)
				counts[home]++
				if home != all[3] && after(key) != home {
					needless++
				}
			}
			least, most := len(list), 0
			for _, b := range all {
				least, most = min(least, counts[b]), max(most, counts[b])
			}
			fair := float64(len(list)) / float64(n)
			fmt.Fprintf(&out, "%-30s %5d %+8.1f%% %+8.1f%% %13.2f%%\n", m.name, n, 100*(float64(most)/fair-1), 100*(float64(least)/fair-1),
				100*float64(needless)/float64(len(list)))
			if strings.HasPrefix(m.name, "carp") {
				assert.Zero(t, needless, m.name)
				assert.Less(t, float64(most), fair*(1+0.02*float64(n)/10), m.name)
			}
		}
	}
	t.Log(out.String())
}
