package main

import (
	"fmt"
	"math"
	"strings"
)

// describe says in words what the figure shows, for those who cannot see it.
func (f *figure) describe() string {
	if f.bars != nil {
		return f.describeBars()
	}
	text := fmt.Sprintf("Lines of the %s over %s.", plain(f.y), plain(f.x))
	for _, c := range f.curves {
		if c.name == "" || len(c.x) == 0 {
			continue
		}
		last := len(c.x) - 1
		least, most := c.y[0], c.y[0]
		for _, v := range c.y {
			least, most = min(least, v), max(most, v)
		}
		text += fmt.Sprintf(" %s: from %s at %s to %s at %s", c.name, short(c.y[0]), short(c.x[0]), short(c.y[last]), short(c.x[last]))
		if most > max(c.y[0], c.y[last]) || least < min(c.y[0], c.y[last]) {
			text += fmt.Sprintf(", between %s and %s", short(least), short(most))
		}
		text += "."
	}
	return text
}

// caption says what the axes are.
func (f *figure) caption() string {
	over := "over"
	if f.bars != nil {
		over = "by"
	}
	return fmt.Sprintf("%s%s, %s %s", strings.ToUpper(f.y[:1]), f.y[1:], over, f.x)
}

func (f *figure) describeBars() string {
	unit, scale := "", 1.0
	if f.percent {
		unit, scale = " %", 100
	}
	var items []string
	for _, b := range f.bars {
		item := fmt.Sprintf("%s %s%s", strings.ReplaceAll(b.name, "\n", " "), short(b.value*scale), unit)
		if !math.IsNaN(b.published) {
			item += fmt.Sprintf(" (published %s%s)", short(b.published*scale), unit)
		}
		items = append(items, item)
	}
	return fmt.Sprintf("Bars of the %s: %s.", plain(f.y), strings.Join(items, ", "))
}

// plain is the text of an axis without what it says of the scale.
func plain(axis string) string {
	axis, _, _ = strings.Cut(axis, " (")
	return axis
}

func short(v float64) string { return fmt.Sprintf("%.3g", v) }
