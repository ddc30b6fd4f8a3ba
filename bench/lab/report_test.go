package main

import (
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
)

// aPage is a page of one step with a figure of each kind and figures that are
// checked, shown beside a published one, and alone.
func aPage(t *testing.T) string {
	t.Helper()
	line := func(label string, value float64) row {
		return row{label: label, text: "says more & more", measures: []measure{
			shown("mean", value, 2).within(2, 0.1), shown("peak", 7, 0).beside(8), shown("alone", 1, 1),
		}}
	}
	file := filepath.Join(t.TempDir(), "page.html")
	err := writePage(file, []string{"-seeds", "2", "x"}, []*table{{
		step: "x", heading: "A heading", shows: "What it shows.", title: "10 servers", label: "policy",
		rows: []row{line("good", 2.1), line("bad", 3), {label: "other", measures: []measure{shown("share", 0.5, 0).asPercent()}}},
		plots: []figure{
			{name: "lines", title: "Lines", x: "time, in ms", y: "requests", curves: []curve{{name: "p2c", policy: "p2c", x: []float64{1, 2, 3}, y: []float64{1, 9, 4}}}},
			{name: "bars", title: "Bars", x: "policy", y: "p99, in ms", bars: []bar{{"p2c", 3, 4}, {"sqf", 2, math.NaN()}}},
		},
	}})
	require.NoError(t, err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return html.UnescapeString(string(text))
}

// says asserts without printing the whole page.
func says(t *testing.T, page, text string) {
	t.Helper()
	if !strings.Contains(page, text) {
		t.Errorf("the page should say %s", text)
	}
}

func TestPageSaysWhatItIs(t *testing.T) {
	page := aPage(t)
	for _, text := range []string{
		`<h2 id="x">A heading</h2>`, "What it shows.", `<a href="#x">A heading</a>`, "<main>", "</main>",
		"<code>go run ./bench/lab -seeds 2 x</code>", "<dt>Date</dt>", "<dt>Version</dt>",
		`<caption id="x-table-1">10 servers</caption>`, `<caption id="x-table-2">10 servers (rows with other measures)</caption>`,
		`role="region" tabindex="0" aria-labelledby="x-table-1"`,
		`<th class="first" scope="row">good</th>`, `scope="colgroup" colspan="3">mean</th>`, `scope="col">published</th>`,
		"<figcaption>Requests, over time, in ms</figcaption>", "<figcaption>P99, in ms, by policy</figcaption>",
		`aria-labelledby="figure-lines-title figure-lines-desc"`,
		"Lines of the requests over time, in ms. p2c: from 1 at 1 to 4 at 3, between 1 and 9.",
		"Bars of the p99, in ms: p2c 3 (published 4), sqf 2.",
		`<td class="remark">says more & more</td>`, "says otherwise. A figure that was published stands beside",
	} {
		says(t, page, text)
	}
}

func TestPageMarksWhatDisagreesAndWhatIsNotChecked(t *testing.T) {
	page := aPage(t)
	says(t, page, `<td class="wrong">+50.0% !</td>`)
	says(t, page, "<td>+5.0%</td>")
	says(t, page, "<td>-12.5% *</td>")
	says(t, page, "* shown beside the published figure; -check does not check it.")
}

func TestPageOfAnOwnFleetClaimsNothingPublished(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	own(t, "-servers 2 -horizon 300 -seeds 2 -policies sqf,random -html "+file)
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	says(t, string(page), "Your fleet")
	assert.Zero(t, strings.Count(string(page), "published"))
}

// Each line of a table has as many cells as its head.
func TestPageTablesAreWhole(t *testing.T) {
	page := aPage(t)
	tables := regexp.MustCompile(`(?s)<table>.*?</table>`).FindAllString(page, -1)
	require.Len(t, tables, 2)
	for _, line := range regexp.MustCompile(`(?s)<tr>.*?</tr>`).FindAllString(strings.Split(tables[0], "<tbody>")[1], -1) {
		assert.Equal(t, 3+3+1+1, strings.Count(line, "<td"), line)
	}
}

func TestEveryStepHasAHeadingAndASentence(t *testing.T) {
	for _, st := range steps {
		assert.NotEmpty(t, st.heading, st.name)
		assert.True(t, strings.HasSuffix(st.shows, "."), st.name)
	}
}

func TestNoTwoPoliciesHaveTheSameDashesOrColours(t *testing.T) {
	pairs := [][]string{shippedPolicies(), {"random", "p2c", "p2c, work left", "sqf", "sqf, work left"}, {"sqf", "lowest"},
		{"roundrobin", "p2c", "unbounded", "carp", "carp2"}}
	for _, together := range pairs {
		for i, a := range together {
			for _, b := range together[:i] {
				assert.NotEqual(t, dashes[a], dashes[b], "%s and %s", a, b)
				assert.NotEqual(t, colours[a], colours[b], "%s and %s", a, b)
			}
		}
	}
}

func TestBarsDoNotOverlap(t *testing.T) {
	for n := 1; n <= 12; n++ {
		assert.LessOrEqual(t, float64(barWidth(n, true))*2*float64(n), float64(barRoom), "%d pairs", n)
		assert.LessOrEqual(t, float64(barWidth(n, false))*float64(n), float64(barRoom), "%d bars", n)
	}
	assert.Less(t, float64(barRoom), float64(figureWidth.Points()))
}

func TestLogarithmicAxesHaveAPlaceForZero(t *testing.T) {
	s := zeroLogScale{}
	assert.Equal(t, 0.0, s.Normalize(0, 1000, 0))
	assert.Equal(t, 1.0, s.Normalize(0, 1000, 1000))
	assert.Greater(t, s.Normalize(0, 1000, 1), 0.05, "one request is seen")
	ticks := zeroLogTicks{}.Ticks(0, 1000)
	assert.Equal(t, plot.Tick{Value: 0, Label: "0"}, ticks[0])
	assert.Equal(t, "1", ticks[1].Label)

	ticks = roundTicks{zero: 0.05, label: "live"}.Ticks(0.05, 50)
	assert.Equal(t, plot.Tick{Value: 0.05, Label: "live"}, ticks[0])
	assert.Equal(t, "0.1", ticks[1].Label)
	f := figure{curves: []curve{{x: []float64{0, 0.1, 5}}, {x: []float64{0.2}}}}
	assert.Equal(t, 0.1, f.leastX())
}
