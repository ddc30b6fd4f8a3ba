package evenkeel_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// Any sequence of leases, ends, cancels, ejections, replaces and weights: the
// limit holds, the oldest is served first, nobody waits while there is room, and
// everyone is told when nobody is left.
func TestBacklogModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(rt *rapid.T) { backlogModel(t, rt) }) // a TB whose Deadline, which a bubble forbids, is hidden
	})
}

type modelCall struct {
	w      *waiting
	cancel context.CancelFunc
}

func backlogModel(t *testing.T, rt *rapid.T) {
	all := names(5)
	limit := rapid.IntRange(1, 3).Draw(rt, "limit")
	backlog := rapid.IntRange(0, 6).Draw(rt, "backlog")
	pool := newPool(t, evenkeel.Config{MaxInFlight: limit, Backlog: backlog, Ejection: ejectionOff,
		SlowStart: evenkeel.SlowStart{Off: true}}, all...)
	q := &queue{t, pool, p2c.New(pool)}
	members := map[string]bool{}
	byHand := map[string]bool{}
	weight := map[string]float64{}
	for _, b := range all {
		members[b], weight[b] = true, 1
	}
	var open, line []*modelCall

	room := func(b string) int {
		if !members[b] || byHand[b] || weight[b] == 0 {
			return 0
		}
		return max(max(1, int(float64(limit)*weight[b]))-pool.InFlight(b), 0)
	}
	usable := func() (n, places int) {
		for _, b := range all {
			if members[b] && !byHand[b] && weight[b] > 0 {
				n++
			}
			places += room(b)
		}
		return n, places
	}
	check := func() {
		synctest.Wait()
		// Who was served must be a front part of the line.
		waits := false
		var still []*modelCall
		for _, c := range line {
			switch {
			case !c.w.done.Load():
				waits = true
				still = append(still, c)
			case c.w.err == nil:
				require.False(rt, waits, "served before an older one")
				open = append(open, c)
			}
		}
		line = still
		n, places := usable()
		if n == 0 {
			require.Empty(rt, line, "nobody is left to wait for")
		}
		if len(line) > 0 {
			require.Zero(rt, places, "waits while there is room")
		}
		require.Equal(rt, len(line), pool.Backlog().Waiting)
		count := map[string]int{}
		for _, c := range open {
			count[c.w.lease.Backend()]++
		}
		for _, b := range all {
			require.Equal(rt, count[b], pool.InFlight(b), b)
		}
	}
	pick := func(list []*modelCall, label string) int {
		return rapid.IntRange(0, len(list)-1).Draw(rt, label)
	}
	backend := rapid.SampledFrom(all)
	rt.Repeat(map[string]func(*rapid.T){
		"lease": func(rt *rapid.T) {
			n, places := usable()
			ctx, cancel := context.WithCancel(context.Background())
			c := &modelCall{q.start(ctx), cancel}
			switch {
			case n == 0:
				require.ErrorIs(rt, c.w.err, evenkeel.ErrNoBackends)
			case places > 0 && len(line) == 0:
				require.True(rt, c.w.done.Load())
				require.NoError(rt, c.w.err)
				open = append(open, c)
			case len(line) >= backlog:
				require.ErrorIs(rt, c.w.err, evenkeel.ErrOverloaded)
			default:
				require.False(rt, c.w.done.Load())
				line = append(line, c)
			}
		},
		"end": func(rt *rapid.T) {
			if len(open) == 0 {
				return
			}
			i := pick(open, "open")
			c := open[i]
			open = append(open[:i:i], open[i+1:]...)
			if rapid.Bool().Draw(rt, "done") {
				c.w.lease.Done(nil)
			}
			c.w.lease.Release()
			c.cancel()
		},
		"cancel": func(rt *rapid.T) {
			if len(line) == 0 {
				return
			}
			c := line[pick(line, "waiting")]
			c.cancel()
			synctest.Wait()
			require.Equal(rt, context.Canceled, c.w.err)
		},
		"eject": func(rt *rapid.T) {
			b := backend.Draw(rt, "backend")
			if pool.Eject(b) == nil {
				byHand[b] = true
			}
		},
		"restore": func(rt *rapid.T) {
			b := backend.Draw(rt, "backend")
			if pool.Restore(b) == nil {
				delete(byHand, b)
			}
		},
		"replace": func(rt *rapid.T) {
			set := rapid.SliceOfDistinct(backend, rapid.ID[string]).Draw(rt, "set")
			now := map[string]bool{}
			for _, b := range set {
				now[b] = true
				if !members[b] && pool.InFlight(b) == 0 && !byHand[b] {
					weight[b] = 1 // new
				}
			}
			require.NoError(rt, pool.Replace(set...))
			members = now
		},
		"weight": func(rt *rapid.T) {
			b := backend.Draw(rt, "backend")
			w := rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(rt, "weight")
			if pool.SetWeight(b, w) == nil {
				weight[b] = w
			}
		},
		"": func(*rapid.T) { check() },
	})
	for _, c := range line {
		c.cancel()
	}
	synctest.Wait()
	for _, c := range open {
		c.w.lease.Release()
		c.cancel()
	}
	for _, c := range line {
		if c.w.err == nil {
			c.w.lease.Release()
		}
	}
	synctest.Wait()
	for _, b := range all {
		require.Zero(rt, pool.InFlight(b))
	}
	require.Zero(rt, pool.Backlog().Waiting)
}
