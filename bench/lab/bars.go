package main

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// barRoom is the width that the bars of a chart share, gaps included.
const barRoom = 340

// barWidth is the width of each of n bars, or of each of n pairs of bars: a pair and
// the gap beside it fill their share of the room.
func barWidth(n int, pairs bool) vg.Length {
	room := barRoom / float64(n)
	if pairs {
		room /= 2
	}
	return vg.Points(min(36, 0.8*room))
}

func (f *figure) addBars(p *plot.Plot) error {
	var ours, published plotter.Values
	var names []string
	compared := false
	scale := 1.0
	if f.percent {
		scale = 100
	}
	for _, b := range f.bars {
		ours = append(ours, b.value*scale)
		names = append(names, b.name)
		if math.IsNaN(b.published) {
			published = append(published, 0)
			continue
		}
		compared = true
		published = append(published, b.published*scale)
	}
	width := barWidth(len(f.bars), compared)
	one, err := plotter.NewBarChart(ours, width)
	if err != nil {
		return err
	}
	one.Color, one.LineStyle.Width = colours["p2c"], 0
	p.Add(one)
	if compared {
		two, err := plotter.NewBarChart(published, width)
		if err != nil {
			return err
		}
		two.Color, two.LineStyle.Width = color.Gray{0xb8}, 0
		one.Offset, two.Offset = -width/2, width/2
		p.Add(two)
		p.Legend.Top, p.Legend.Left = true, f.keyLeft
		p.Legend.Add("here", one)
		p.Legend.Add("published", two)
		p.Legend.YOffs = -vg.Points(4)
		if f.keyLeft {
			p.Legend.XOffs = vg.Points(8)
		}
	}
	p.Y.Min = 0
	p.Y.Max *= 1.15
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	return nil
}
