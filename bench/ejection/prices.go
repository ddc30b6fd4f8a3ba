package main

import (
	"fmt"
	"math"
)

// prices are what detection costs where it is dear: the figures that no one likes to show.
func prices() []scenario {
	var list []scenario
	for _, c := range []struct {
		n, k       int
		rate       float64
		perBackend float64
		calls      float64 // that it may cost at worst
	}{
		{10, 1, 1, 100, 10},
		{10, 5, 1, 100, 40},
		{50, 25, 1, 100, 40},
		{2, 1, 1, 2, 60},
		{2, 1, 0.5, 2, 0},
		{2, 1, 0.1, 2, 0},
	} {
		what := fmt.Sprintf("%d of %d begin to fail %.0f %% at one moment, %v calls/s", c.k, c.n, 100*c.rate, c.perBackend*float64(c.n))
		list = append(list, scenario{what, func(seed uint64, short bool) ([]figure, error) {
			return price(scene{n: c.n, k: c.k, rate: c.rate, noise: noise, perBackend: c.perBackend}, c.calls, seed, short)
		}})
	}
	return list
}

// price plays a scene with several seeds. A most of 0 claims nothing.
func price(s scene, most float64, seed uint64, short bool) ([]figure, error) {
	repeat := 20
	if short {
		repeat = 3
	}
	var all found
	for i := range repeat {
		s.seed = mix(seed, i)
		f, err := detect(s)
		if err != nil {
			return nil, err
		}
		all.add(f)
	}
	sm := all.summarize()
	median, after := float64(sm.medianCalls), sm.median.Seconds()
	if len(all.after) == 0 {
		median, after = math.NaN(), math.NaN()
	}
	worst := atMost(most, "calls that each takes to be found, worst", float64(sm.worstCalls), "")
	missed := atMost(0, fmt.Sprintf("not found within %v", patience), percent(sm.missed, sm.of), "%")
	if most == 0 {
		worst, missed = shown(worst.what, worst.value, ""), shown(missed.what, missed.value, "%")
	}
	return []figure{
		shown("time to be found, median", math.Round(after*1000)/1000, "s"),
		shown("calls that each takes to be found, median", median, ""),
		worst, missed,
		atMost(0, "healthy ones ejected", float64(sm.wrong), ""),
	}, nil
}
