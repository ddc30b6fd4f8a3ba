package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A table is a result as text: the cells of each line, the first line the head.
type table struct {
	title string
	lines [][]string
	words int // the first so many columns are words, the others figures
}

// tableOf is the table of a result. The published columns are there only if some
// row has published figures.
func tableOf(r result, repeat int) table {
	t := table{words: 2}
	medians := "one run"
	if repeat > 1 {
		medians = fmt.Sprintf("medians of %d runs", repeat)
	}
	if r.Step == stepCapacity {
		t.title = fmt.Sprintf("Two servers of %s and %s, %s requests by %d clients, %s",
			thousands(1/r.Services[0]), rate(1/r.Services[1]), thousands(float64(r.Requests)), r.Clients, medians)
		t.lines = append(t.lines, []string{"who chooses", "how", "requests/s", "requests/s in all runs", "of both", "fast server", "slow server", "share of slow"})
	} else {
		t.title = fmt.Sprintf("Three servers of %s and one of %s, %s requests by %d clients, %s",
			ms(1000*r.Services[0]), ms(1000*r.Services[len(r.Services)-1]), thousands(float64(r.Requests)), r.Clients, medians)
		t.lines = append(t.lines, []string{"who chooses", "how", "to slow server", "seconds", "p50", "p99", "p99 in all runs"})
	}
	for _, row := range r.Rows {
		t.lines = append(t.lines, row.cells(r))
	}
	if repeat == 1 {
		t.drop("in all runs")
	}
	if slices.ContainsFunc(r.Rows, func(row row) bool { return row.Published != nil }) {
		t.addPublished(r)
	}
	return t
}

func (r row) cells(of result) []string {
	if of.Step == stepCapacity {
		low, high := span(r.Runs, func(x run) float64 { return float64(r.Requests) / x.Seconds })
		return []string{r.Who, r.Method, thousands(r.rate()), thousands(low) + " to " + thousands(high), percent(r.rate() / of.capacity()),
			thousands(float64(r.Median.Sent[0])), thousands(float64(r.Median.Sent[1])), percent(r.Median.slow())}
	}
	low, high := span(r.Runs, func(x run) float64 { return x.P99 })
	return []string{r.Who, r.Method, percent(r.Median.slow()), seconds(r.Median.Seconds), ms(r.Median.P50), ms(r.Median.P99),
		thousands(low) + " to " + ms(high)}
}

// addPublished puts the published figures beside the measured ones.
func (t *table) addPublished(r result) {
	head := []string{"published: to slow", "seconds", "p50", "p99"}
	figuresOf := func(f figures) []string {
		return []string{percent(f.Share), seconds(f.Seconds), ms(f.P50), ms(f.P99)}
	}
	if r.Step == stepCapacity {
		head = []string{"published: requests/s", "of both", "share of slow"}
		figuresOf = func(f figures) []string { return []string{thousands(f.Rate), percent(f.OfSum), percent(f.Share)} }
	}
	t.lines[0] = append(t.lines[0], head...)
	for i, row := range r.Rows {
		cells := make([]string, len(head))
		if row.Published != nil {
			cells = figuresOf(*row.Published)
		}
		t.lines[i+1] = append(t.lines[i+1], cells...)
	}
}

// drop takes out the column whose head ends with these words.
func (t *table) drop(words string) {
	at := slices.IndexFunc(t.lines[0], func(head string) bool { return strings.HasSuffix(head, words) })
	for i := range t.lines {
		t.lines[i] = slices.Delete(t.lines[i], at, at+1)
	}
}

// text writes the table in columns.
func (t table) text(out io.Writer) {
	fmt.Fprintf(out, "%s\n\n", t.title)
	widths := make([]int, len(t.lines[0]))
	for _, line := range t.lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range t.lines {
		var text strings.Builder
		for i, cell := range line {
			if i < t.words {
				fmt.Fprintf(&text, "%-*s  ", widths[i], cell)
			} else {
				fmt.Fprintf(&text, "%*s  ", widths[i], cell)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(text.String(), " "))
	}
	fmt.Fprintln(out)
}

// markdown is the table for a document.
func (t table) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:\n\n", t.title)
	for i, line := range t.lines {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			text.WriteString(strings.Repeat("|---", t.words) + strings.Repeat("|---:", len(line)-t.words) + "|\n")
		}
	}
	return text.String()
}

// span is the least and the greatest figure of the runs.
func span(runs []run, figure func(run) float64) (low, high float64) {
	low, high = figure(runs[0]), figure(runs[0])
	for _, r := range runs {
		low, high = min(low, figure(r)), max(high, figure(r))
	}
	return low, high
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
func seconds(s float64) string     { return fmt.Sprintf("%.1f s", s) }
func ms(v float64) string          { return thousands(v) + " ms" }
func rate(v float64) string        { return thousands(v) + " requests/s" }

// thousands is a whole number with a comma after each three digits.
func thousands(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
