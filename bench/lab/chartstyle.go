package main

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours that the colour blind can tell apart (Okabe and Ito, 2002), one for each
// policy on every chart. No two policies have the same dashes, so that a chart can be
// read without its colours too.
var (
	colours = map[string]color.Color{
		"random":         color.RGBA{0xd5, 0x5e, 0x00, 0xff},
		"roundrobin":     color.RGBA{0xe6, 0x9f, 0x00, 0xff},
		"p2c":            color.RGBA{0x00, 0x72, 0xb2, 0xff},
		"p3c":            color.RGBA{0x56, 0xb4, 0xe9, 0xff},
		"sqf":            color.RGBA{0x00, 0x9e, 0x73, 0xff},
		"replacement":    color.RGBA{0xcc, 0x79, 0xa7, 0xff},
		"lowest":         color.RGBA{0xcc, 0x79, 0xa7, 0xff},
		"p2c, work left": color.RGBA{0xcc, 0x79, 0xa7, 0xff},
		"sqf, work left": color.RGBA{0x00, 0x00, 0x00, 0xff},
		"carp":           color.RGBA{0x00, 0x6d, 0x4e, 0xff},
		"carp2":          color.RGBA{0x66, 0x33, 0x99, 0xff},
		"unbounded":      color.RGBA{0x8b, 0x1a, 0x1a, 0xff},
		"":               color.RGBA{0x70, 0x70, 0x70, 0xff},
	}
	dashes = map[string][]vg.Length{
		"p2c":            nil, // a line without a gap
		"random":         points(7, 3),
		"roundrobin":     points(1.5, 2),
		"p3c":            points(9, 2, 2, 2),
		"sqf":            points(16, 3),
		"replacement":    points(4, 2),
		"lowest":         points(9, 2, 2, 2, 2, 2),
		"p2c, work left": points(12, 3, 5, 3),
		"sqf, work left": points(3, 4),
		"carp":           points(20, 2),
		"carp2":          points(20, 2, 2, 2),
		"unbounded":      points(5, 5),
		"":               points(2, 3),
	}
	glyphs = map[string]draw.GlyphDrawer{
		"random": draw.CrossGlyph{}, "roundrobin": draw.BoxGlyph{}, "p2c": draw.CircleGlyph{}, "p3c": draw.RingGlyph{}, "sqf": draw.PyramidGlyph{},
	}
)

func points(lengths ...float64) []vg.Length {
	var out []vg.Length
	for _, l := range lengths {
		out = append(out, vg.Points(l))
	}
	return out
}
