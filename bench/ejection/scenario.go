package main

import (
	"fmt"
	"io"
	"math"
)

// A scenario is a story with figures that are claimed to stay within bounds.
type scenario struct {
	what string
	play func(seed uint64, short bool) ([]figure, error)
}

// figure is a measured value and what is claimed of it.
type figure struct {
	what        string
	value       float64
	unit        string  // "", "%" or "s"
	least, most float64 // least above most: nothing is claimed
}

func atMost(most float64, what string, value float64, unit string) figure {
	return figure{what, value, unit, math.Inf(-1), most}
}

func atLeast(least float64, what string, value float64, unit string) figure {
	return figure{what, value, unit, least, math.Inf(1)}
}

func within(least, most float64, what string, value float64, unit string) figure {
	return figure{what, value, unit, least, most}
}

// shown is a figure of which nothing is claimed: a price, or something to compare with.
func shown(what string, value float64, unit string) figure {
	return figure{what, value, unit, 1, 0}
}

func (f figure) claimed() bool { return f.least <= f.most }

// holds says whether the value is as claimed. A value that is no number is not.
func (f figure) holds() bool { return !f.claimed() || f.least <= f.value && f.value <= f.most }

func (f figure) verdict() string {
	switch {
	case !f.claimed():
		return ""
	case f.holds():
		return "holds"
	}
	return "DOES NOT HOLD"
}

func (f figure) claim() string {
	switch {
	case !f.claimed():
		return "-"
	case math.IsInf(f.least, -1):
		return "at most " + number(f.most, f.unit)
	case math.IsInf(f.most, 1):
		return "at least " + number(f.least, f.unit)
	case f.least == f.most:
		return number(f.least, f.unit)
	}
	return number(f.least, f.unit) + " to " + number(f.most, f.unit)
}

func number(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "never"
	case unit == "":
		return fmt.Sprintf("%.4g", v)
	case v == 0:
		return "0 " + unit
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

// claims plays the scenarios, prints their figures, and returns what does not hold.
func claims(list []scenario, o options, out io.Writer) (broken []string, err error) {
	results := make([][]figure, len(list))
	err = parallel(len(list), func(i int) error {
		var err error
		if results[i], err = list[i].play(mix(o.seed, i), o.short); err != nil {
			return fmt.Errorf("%s: %w", list[i].what, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprint(out, "\nWhat must not cost a backend its place, and what must: p2c, default settings, virtual time.\n"+
		"A dash: nothing is claimed, the figure is a price or something to compare with.\n\n")
	t := table(out)
	fmt.Fprintln(t, "scenario\tfigure\tmeasured\tclaim\t")
	for i, s := range list {
		what := s.what
		for _, f := range results[i] {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", what, f.what, number(f.value, f.unit), f.claim(), f.verdict())
			what = ""
			if !f.holds() {
				broken = append(broken, fmt.Sprintf("%s: %s is %s, not %s", s.what, f.what, number(f.value, f.unit), f.claim()))
			}
		}
	}
	return broken, t.Flush()
}
