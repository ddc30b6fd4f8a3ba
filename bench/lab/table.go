package main

import (
	"fmt"
	"math"
)

// measure is one figure of a row, beside the published one if there is one.
type measure struct {
	name      string
	value     float64
	published float64 // NaN: none
	digits    int     // after the point
	percent   bool
	// tolerance is how far value may be from published; NaN: it is not checked.
	tolerance float64
	// noise is the standard error of the published figure, for the order of rows.
	noise float64
	// rule says what the tolerance is made of.
	rule string
}

func shown(name string, value float64, digits int) measure {
	return measure{name: name, value: value, published: math.NaN(), tolerance: math.NaN(), digits: digits}
}

// beside adds a published figure that is shown and not checked.
func (m measure) beside(published float64) measure {
	m.published = published
	return m
}

// asPercent shows a share in percent, with so many digits.
func (m measure) asPercent() measure {
	m.percent = true
	return m
}

// against adds a published figure that rests on so many runs of which s is a
// sample, and the rule of the lab: three standard errors of a run of that size,
// 1 %, and the rounding of the published digits.
func (m measure) against(published float64, s sample, publishedRuns int) measure {
	m.published = published
	m.noise = s.sd() / math.Sqrt(float64(publishedRuns))
	unit := math.Pow(10, -float64(m.digits))
	if m.percent {
		unit /= 100
	}
	m.tolerance = 3*m.noise + 0.01*math.Abs(published) + unit/2
	m.rule = fmt.Sprintf("3 standard errors of %d runs + 1 %% + rounding", publishedRuns)
	return m
}

// within adds a published figure (or one from a formula) that must be met within
// a share of it.
func (m measure) within(published, share float64) measure {
	m.published = published
	m.tolerance = share * math.Abs(published)
	m.rule = fmt.Sprintf("%g %%", share*100)
	return m
}

func (m measure) format(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case m.percent:
		return fmt.Sprintf("%.*f%%", m.digits, v*100)
	}
	return fmt.Sprintf("%.*f", m.digits, v)
}

func (m measure) difference() string {
	switch {
	case math.IsNaN(m.published):
		return ""
	case m.percent:
		return fmt.Sprintf("%+.*f", m.digits, (m.value-m.published)*100)
	case m.published == 0:
		return fmt.Sprintf("%+.*f", m.digits, m.value)
	}
	return fmt.Sprintf("%+.1f%%", (m.value/m.published-1)*100)
}

// compared reports whether the measure stands beside a published figure.
func (m measure) compared() bool { return !math.IsNaN(m.published) }

// checked reports whether the measure must agree with the published figure.
func (m measure) checked() bool { return !math.IsNaN(m.tolerance) }

// allowed is the largest difference that still agrees, as difference gives it.
func (m measure) allowed() string {
	switch {
	case !m.compared():
		return ""
	case !m.checked():
		return "not checked"
	case m.percent:
		return fmt.Sprintf("±%.*f", m.digits, m.tolerance*100)
	case m.published == 0:
		return fmt.Sprintf("±%.*f", m.digits, m.tolerance)
	}
	return fmt.Sprintf("±%.1f%%", m.tolerance/math.Abs(m.published)*100)
}

func (m measure) agrees() bool {
	return !m.checked() || math.Abs(m.value-m.published) <= m.tolerance
}

// input is one of the settings that made a row.
type input struct {
	name  string
	value any
}

// row is one line of a table.
type row struct {
	label    string // what the table calls it
	policy   string
	inputs   []input
	measures []measure
	text     string // more, at the end of the line
	runs     *runs  // what it was measured in; nil: not by the simulator
	noOrder  bool   // a reference that stands outside the order of the rows
}

func (r *row) measure(name string) (measure, bool) {
	for _, m := range r.measures {
		if m.name == name {
			return m, true
		}
	}
	return measure{}, false
}

// claim is a statement about several rows that must hold.
type claim struct {
	what  string
	holds bool
}

// table is what a step has found.
type table struct {
	step    string
	heading string // what the page calls the step
	shows   string // one sentence: what the step shows
	title   string
	label   string // head of the first column
	rows    []row
	notes   []string
	claims  []claim
	orders  []string // the measures by which the published order of the rows must hold
	plots   []figure
}

// disagreements names every row that does not agree with what was published.
func (t *table) disagreements() []string {
	var out []string
	for i := range t.rows {
		r := &t.rows[i]
		for _, m := range r.measures {
			if !m.agrees() {
				out = append(out, fmt.Sprintf("%s, row %q: %s is %s, published %s; allowed is a difference of %.4g (%s)",
					t.step, r.label, m.name, m.format(m.value), m.format(m.published), m.tolerance, m.rule))
			}
		}
	}
	for _, name := range t.orders {
		out = append(out, t.disorder(name)...)
	}
	for _, c := range t.claims {
		if !c.holds {
			out = append(out, fmt.Sprintf("%s: it does not hold that %s", t.step, c.what))
		}
	}
	return out
}

// disorder names the pairs of rows whose order is not the published one. Rows
// that were published closer together than the noise of the published runs must
// only not be further apart than that the other way round.
func (t *table) disorder(name string) []string {
	var out []string
	for i := range t.rows {
		for j := range t.rows {
			a, okA := t.rows[i].measure(name)
			b, okB := t.rows[j].measure(name)
			if !okA || !okB || t.rows[i].noOrder || t.rows[j].noOrder || !(a.published < b.published) {
				continue
			}
			noise := 3 * math.Hypot(a.noise, b.noise)
			if b.published-a.published > noise {
				noise = 0
			}
			if a.value >= b.value+noise {
				out = append(out, fmt.Sprintf("%s: by %s, row %q was published below row %q, and is not (%s, %s)", t.step, name,
					t.rows[i].label, t.rows[j].label, a.format(a.value), b.format(b.value)))
			}
		}
	}
	return out
}

// counts is how many figures of the table are checked, and how many only stand
// beside a published one.
func (t *table) counts() (checked, unchecked int) {
	for _, r := range t.rows {
		for _, m := range r.measures {
			switch {
			case m.checked():
				checked++
			case m.compared():
				unchecked++
			}
		}
	}
	return checked, unchecked
}
