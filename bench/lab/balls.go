package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/sim"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// planBalls throws balls by leasing and never ending the lease: the bins are a
// pool of a million backends.
func planBalls(l *lab) (report, error) {
	pub := l.published.Balls
	choices := []int{1, 2, 3}
	fullest := make([]sample, len(choices))
	empty := make([]sample, len(choices))
	b := l.submit(1, func(int) error {
		bins := make([]int, pub.N)
		for i := range bins {
			bins[i] = i
		}
		pool, err := evenkeel.NewPool(sim.Plain(), bins...)
		if err != nil {
			return err
		}
		leases := make([]evenkeel.Lease[int], pub.N)
		loads := make([]int32, pub.N)
		for k, d := range choices {
			for seed := range pub.Runs {
				lb, err := p2c.NewWith(pool, p2c.Config{D: d, Seed: uint64(seed + 1)})
				if err != nil {
					return err
				}
				if err := throw(l.ctx, lb, leases, loads); err != nil {
					return err
				}
				most, none := int32(0), 0
				for i, n := range loads {
					most = max(most, n)
					if n == 0 {
						none++
					}
					loads[i] = 0
				}
				fullest[k] = append(fullest[k], float64(most))
				empty[k] = append(empty[k], float64(none)/float64(pub.N))
			}
		}
		return nil
	})
	return func(ctx context.Context) (*table, error) {
		if err := b.wait(ctx); err != nil {
			return nil, err
		}
		t := &table{title: fmt.Sprintf("%d balls into as many bins, %d runs each", pub.N, pub.Runs), label: "choices"}
		for k, d := range choices {
			key := fmt.Sprint(d)
			label := key
			if d == 1 {
				label = "1 (random)"
			}
			t.rows = append(t.rows, row{
				label: label, policy: fmt.Sprintf("p2c, D=%d", d), inputs: []input{{"balls", pub.N}, {"choices", d}},
				measures: []measure{
					shown("fullest bin", fullest[k].mean(), 1).against(sample(pub.Fullest[key]).mean(), fullest[k], pub.Runs),
					shown("empty bins", empty[k].mean(), 1).asPercent().against(pub.EmptyShare[key], empty[k], 1),
				},
				text: fmt.Sprintf("fullest in each run %v, published %v", fullest[k], pub.Fullest[key]),
			})
		}
		t.orders = []string{"fullest bin", "empty bins"}
		f := figure{name: "balls", title: "The fullest of a million bins", y: "balls in the fullest bin", x: "choices for each ball"}
		for i, r := range t.rows {
			m := r.measures[0]
			f.bars = append(f.bars, bar{fmt.Sprint(choices[i]), m.value, m.published})
		}
		t.plots = []figure{f}
		return t, nil
	}, nil
}

// throw leases one backend for each ball and counts where they are, then ends all
// leases.
func throw(ctx context.Context, lb evenkeel.Balancer[int], leases []evenkeel.Lease[int], loads []int32) error {
	thrown := 0
	defer func() {
		for i := range leases[:thrown] {
			leases[i].Release()
		}
	}()
	for i := range leases {
		var err error
		if leases[i], err = lb.Lease(ctx); err != nil {
			return err
		}
		thrown++
		if thrown%(1<<12) == 0 {
			runtime.Gosched() // for the step that runs in real time beside this one
		}
		loads[leases[i].Backend()]++
	}
	return nil
}
