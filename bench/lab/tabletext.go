package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// print writes the table with the published figures and the differences; check adds
// what is allowed, and what else must hold. Rows that do not have the same measures
// are set apart.
func (t *table) print(w io.Writer, check bool) {
	fmt.Fprintf(w, "%s: %s\n", t.step, t.title)
	for _, b := range t.blocks() {
		printAligned(w, b.lines(check))
	}
	for _, n := range t.notes {
		fmt.Fprintf(w, "%s\n", n)
	}
	if check {
		t.printChecks(w)
	}
	fmt.Fprintln(w)
}

// printChecks writes what is checked beside the figures.
func (t *table) printChecks(w io.Writer) {
	for _, name := range t.orders {
		says := "as published"
		if len(t.disorder(name)) > 0 {
			says = "NOT as published"
		}
		fmt.Fprintf(w, "the order of the rows by %s: %s\n", name, says)
	}
	for _, c := range t.claims {
		says := "holds"
		if !c.holds {
			says = "does NOT hold"
		}
		fmt.Fprintf(w, "%s: %s\n", c.what, says)
	}
}

// block is a stretch of rows with the same measures.
type block struct {
	label string
	rows  []row
}

func (t *table) blocks() []block {
	names := func(r *row) string {
		var n []string
		for _, m := range r.measures {
			n = append(n, m.name)
		}
		return strings.Join(n, "\n")
	}
	var out []block
	for i := 0; i < len(t.rows); {
		j := i
		for j < len(t.rows) && names(&t.rows[j]) == names(&t.rows[i]) {
			j++
		}
		out = append(out, block{t.label, t.rows[i:j]})
		i = j
	}
	return out
}

// compared reports whether a published figure stands in the column of measure k.
func (b block) compared(k int) bool {
	for _, r := range b.rows {
		if r.measures[k].compared() {
			return true
		}
	}
	return false
}

// lines returns the block as cells: a head and a line for each row, with a cell more
// where the row says more.
func (b block) lines(check bool) [][]string {
	head := []string{b.label}
	for k, m := range b.rows[0].measures {
		head = append(head, m.name)
		if b.compared(k) {
			head = append(head, "published", "diff")
		}
		if b.compared(k) && check {
			head = append(head, "allowed")
		}
	}
	lines := [][]string{head}
	for _, r := range b.rows {
		line := []string{r.label}
		for k, m := range r.measures {
			line = append(line, m.format(m.value))
			if !b.compared(k) {
				continue
			}
			diff := m.difference()
			if !m.agrees() {
				diff += " !"
			}
			line = append(line, m.format(m.published), diff)
			if check {
				line = append(line, m.allowed())
			}
		}
		if r.text != "" {
			line = append(line, r.text)
		}
		lines = append(lines, line)
	}
	return lines
}

// printAligned writes lines in columns, the first to the left and the others to
// the right; what is past the head's columns is text.
func printAligned(w io.Writer, lines [][]string) {
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, c := range l {
			if i < len(width) {
				width[i] = max(width[i], utf8.RuneCountInString(c))
			}
		}
	}
	for _, l := range lines {
		var b strings.Builder
		for i, c := range l {
			switch {
			case i == 0:
				b.WriteString(c + strings.Repeat(" ", width[0]-utf8.RuneCountInString(c)))
			case i < len(width):
				b.WriteString("  " + strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)) + c)
			default:
				b.WriteString("  " + c)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
