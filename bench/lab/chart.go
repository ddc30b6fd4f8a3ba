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
	name    string // of the file, without its ending
	title   string
	x, y    string
	logX    bool
	logY    bool
	curves  []curve
	bars    []bar
	percent bool // bars are shares
	keyLeft bool // the legend stands to the left
	keyLow  bool // and at the bottom
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

// Colours that the colour blind can tell apart (Okabe and Ito, 2002), one for
// each policy on every chart; lines differ in their dashes too, for print.
var (
	colours = map[string]color.Color{
		"random":      color.RGBA{0xd5, 0x5e, 0x00, 0xff},
		"roundrobin":  color.RGBA{0xe6, 0x9f, 0x00, 0xff},
		"p2c":         color.RGBA{0x00, 0x72, 0xb2, 0xff},
		"p3c":         color.RGBA{0x56, 0xb4, 0xe9, 0xff},
		"sqf":         color.RGBA{0x00, 0x9e, 0x73, 0xff},
		"replacement": color.RGBA{0xcc, 0x79, 0xa7, 0xff},
		"lowest":      color.RGBA{0xcc, 0x79, 0xa7, 0xff},
		"":            color.RGBA{0x70, 0x70, 0x70, 0xff},
	}
	dashes = map[string][]vg.Length{
		"random": {vg.Points(7), vg.Points(3)}, "roundrobin": {vg.Points(2), vg.Points(2)}, "p3c": {vg.Points(9), vg.Points(2), vg.Points(2), vg.Points(2)},
	}
	glyphs = map[string]draw.GlyphDrawer{
		"random": draw.CrossGlyph{}, "roundrobin": draw.BoxGlyph{}, "p2c": draw.CircleGlyph{}, "p3c": draw.RingGlyph{}, "sqf": draw.PyramidGlyph{},
	}
)

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

// tidy makes the SVG one that scales with the page and has a title for those who
// cannot see it, and drops what a page cannot hold in its middle.
func (f *figure) tidy(svg string) string {
	start := strings.Index(svg, "<svg")
	end := strings.Index(svg[start:], ">") + start
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img">
<title>%s</title>`, figureWidth.Points(), figureHeight.Points(), 1.5*figureWidth.Points(), 1.5*figureHeight.Points(), escape(f.title))
	const family = "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal"
	return head + strings.ReplaceAll(svg[end+1:], family, "font-family:Liberation Sans,Arial,Helvetica,sans-serif")
}

func (f *figure) addCurves(p *plot.Plot) error {
	if f.logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, roundTicks{}
	} else {
		p.X.Min = 0
	}
	if f.logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, roundTicks{}
	} else {
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
		for i := range c.x {
			if (f.logX && c.x[i] <= 0) || (f.logY && c.y[i] <= 0) {
				continue
			}
			xy = append(xy, plotter.XY{X: c.x[i], Y: c.y[i]})
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return err
		}
		line.Color, points.Color = colours[c.policy], colours[c.policy]
		line.Width = vg.Points(1.8)
		if c.thin {
			line.Width = vg.Points(0.7)
		}
		line.Dashes = dashes[c.policy]
		if c.dashed {
			line.Dashes = []vg.Length{vg.Points(2), vg.Points(3)}
			line.Width = vg.Points(1.2)
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

func (f *figure) addBars(p *plot.Plot) error {
	var ours, published plotter.Values
	var names []string
	compared := false
	for _, b := range f.bars {
		scale := 1.0
		if f.percent {
			scale = 100
		}
		ours = append(ours, b.value*scale)
		names = append(names, b.name)
		if !math.IsNaN(b.published) {
			compared = true
			published = append(published, b.published*scale)
		} else {
			published = append(published, 0)
		}
	}
	width := vg.Points(min(36, 220/float64(len(f.bars))))
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

// roundTicks marks a logarithmic axis at 1, 2 and 5 times the powers of ten, and
// only at the powers where that would be too many.
type roundTicks struct{}

func (roundTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
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

// slowerThan is the curve of the share of requests that take longer than a time,
// down to one in ten to the power of depth.
func slowerThan(policy string, r *runs, depth float64) curve {
	c := curve{name: titleOf(policy), policy: policy}
	for e := 0.0; e <= depth+0.05; e += 0.1 {
		rest := math.Pow(10, -e)
		sum := 0.0
		for _, res := range r.results {
			sum += res.Quantile(1 - rest)
		}
		c.x = append(c.x, sum/float64(len(r.results)))
		c.y = append(c.y, rest)
	}
	return c
}
