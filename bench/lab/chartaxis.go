package main

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// roundTicks marks a logarithmic axis at 1, 2 and 5 times the powers of ten, and
// only at the powers where that would be too many. label, if it is set, stands at
// zero, and nothing else does.
type roundTicks struct {
	zero  float64
	label string
}

func (r roundTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	if r.label != "" {
		ticks = append(ticks, plot.Tick{Value: r.zero, Label: r.label})
		low = 1.5 * r.zero
	}
	decades := math.Log10(high / low)
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || decades < 2.5 {
				t.Label = fmt.Sprintf("%.6g", v)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// zeroLogScale is a logarithmic scale that has a place for 0: it is that of v + 1.
type zeroLogScale struct{}

// Normalize implements plot.Normalizer.
func (zeroLogScale) Normalize(low, high, v float64) float64 {
	return (math.Log1p(v) - math.Log1p(low)) / (math.Log1p(high) - math.Log1p(low))
}

// zeroLogTicks marks such an axis at 0 and at 1, 2 and 5 times the powers of ten.
type zeroLogTicks struct{}

func (zeroLogTicks) Ticks(_, high float64) []plot.Tick {
	return append([]plot.Tick{{Value: 0, Label: "0"}}, roundTicks{}.Ticks(1, max(high, 2))...)
}
