package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is one plot of a step: a chart of curves, or of bars.
type figure struct {
	name  string // of the file, without its ending
	title string
	x, y  string
	logX  bool
	logY  bool
	zeroX string // how a logarithmic x axis calls 0, left of its least mark; "": it has none
	// zeroLogY is a logarithmic y axis that begins at 0.
	zeroLogY bool
	curves   []curve
	bars     []bar
	percent  bool // bars are shares
	keyLeft  bool // the legend stands to the left
	keyLow   bool // and at the bottom
	// yMin and yMax bound the y axis where they differ.
	yMin, yMax float64
}

// curve is one line of a chart.
type curve struct {
	name   string
	policy string // decides its colour
	x, y   []float64
	dots   bool
	dashed bool
	thin   bool
}

// bar is one bar of a chart, with the published figure beside it if there is one
// (else NaN).
type bar struct {
	name             string
	value, published float64
}

const (
	figureWidth  = 420 * vg.Inch / 72
	figureHeight = 280 * vg.Inch / 72
)

// svg draws the figure.
func (f *figure) svg() (string, error) {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	for _, st := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		size := st.Font.Size
		st.Font = sans
		st.Font.Size = max(size, 11)
	}
	p.Title.TextStyle.Font.Size = 13
	// What the y axis shows stands below the title, where a phone has room for it.
	p.Title.Text, p.X.Label.Text = f.title+"\n"+f.y, f.x
	p.Title.Padding = vg.Points(6)
	p.X.Padding, p.Y.Padding, p.Legend.Padding = vg.Points(4), vg.Points(4), vg.Points(3)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	var err error
	if f.bars != nil {
		err = f.addBars(p)
	} else {
		err = f.addCurves(p)
	}
	if err != nil {
		return "", fmt.Errorf("the figure %s: %w", f.name, err)
	}
	if f.yMin != f.yMax {
		p.Y.Min, p.Y.Max = f.yMin, f.yMax
	}
	c := vgsvg.New(figureWidth, figureHeight)
	p.Draw(draw.Crop(draw.New(c), vg.Points(2), -vg.Points(10), vg.Points(2), -vg.Points(4)))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	return f.tidy(b.String()), nil
}

// tidy makes the SVG one that scales with the page and has a title and a description
// for those who cannot see it, and drops what a page cannot hold in its middle.
func (f *figure) tidy(svg string) string {
	start := strings.Index(svg, "<svg")
	end := strings.Index(svg[start:], ">") + start
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[3]g" height="%[4]g" role="img" aria-labelledby="%[5]s-title %[5]s-desc">
<title id="%[5]s-title">%[6]s</title>
<desc id="%[5]s-desc">%[7]s</desc>`, figureWidth.Points(), figureHeight.Points(), 1.5*figureWidth.Points(), 1.5*figureHeight.Points(),
		"figure-"+f.name, escape(f.title), escape(f.describe()))
	const family = "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal"
	return head + strings.ReplaceAll(svg[end+1:], family, "font-family:Liberation Sans,Arial,Helvetica,sans-serif")
}

// leastX is the least x above 0.
func (f *figure) leastX() float64 {
	least := math.Inf(1)
	for _, c := range f.curves {
		for _, x := range c.x {
			if x > 0 {
				least = min(least, x)
			}
		}
	}
	return least
}

func (f *figure) addCurves(p *plot.Plot) error {
	zero := 0.0 // where x = 0 is drawn
	if f.logX {
		zero = f.leastX() / 2
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, roundTicks{zero: zero, label: f.zeroX}
	} else {
		p.X.Min = 0
	}
	switch {
	case f.logY:
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, roundTicks{}
	case f.zeroLogY:
		p.Y.Scale, p.Y.Tick.Marker = zeroLogScale{}, zeroLogTicks{}
		p.Y.Min = 0
	default:
		p.Y.Min = 0
	}
	p.Legend.Top, p.Legend.Left = !f.keyLow, f.keyLeft
	p.Legend.YOffs, p.Legend.XOffs = -vg.Points(4), -vg.Points(4)
	if f.keyLow {
		p.Legend.YOffs = vg.Points(8)
	}
	if f.keyLeft {
		p.Legend.XOffs = vg.Points(8)
	}
	p.Legend.ThumbnailWidth = vg.Points(26)
	for _, c := range f.curves {
		var xy plotter.XYs
		for i, x := range c.x {
			if f.logX && x <= 0 {
				x = zero
			}
			xy = append(xy, plotter.XY{X: x, Y: c.y[i]})
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		line.Color, points.Color = colours[c.policy], colours[c.policy]
		line.Width = vg.Points(1.8)
		line.Dashes = dashes[c.policy]
		switch {
		case c.thin:
			line.Width, line.Dashes = vg.Points(0.7), nil
		case c.dashed:
			line.Width, line.Dashes = vg.Points(1.2), dashes[""]
		}
		points.Shape, points.Radius = draw.CircleGlyph{}, vg.Points(3)
		if g, ok := glyphs[c.policy]; ok {
			points.Shape = g
		}
		p.Add(line)
		if c.dots {
			p.Add(points)
		}
		switch {
		case c.name == "":
		case c.dots:
			p.Legend.Add(c.name, line, points)
		default:
			p.Legend.Add(c.name, line)
		}
	}
	return nil
}
