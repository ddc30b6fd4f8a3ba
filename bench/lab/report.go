package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

//go:embed report.html.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Parse(reportText))

func escape(s string) string { return template.HTMLEscapeString(s) }

// readmePlots are the figures that the README shows.
var readmePlots = []string{"policies", "stale", "sick"}

// write writes the page and the plots that were asked for.
func (s *settings) write(tables []*table) error {
	if s.html != "" {
		if err := writePage(s.html, s.args, tables); err != nil {
			return badFlag("html", "%v", err)
		}
	}
	if s.svg == "" {
		return nil
	}
	if err := os.MkdirAll(s.svg, 0o755); err != nil {
		return badFlag("svg", "%v", err)
	}
	for _, t := range tables {
		for _, f := range t.plots {
			if !slices.Contains(readmePlots, f.name) {
				continue
			}
			svg, err := f.svg()
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(s.svg, f.name+".svg"), []byte(svg), 0o644); err != nil {
				return badFlag("svg", "%v", err)
			}
		}
	}
	return nil
}

// page is the whole report.
type page struct {
	Date, Version, Command string
	Compared               bool // some figure stands beside a published one
	Sections               []section
}

// section is one step on the page.
type section struct {
	Step, Heading, Shows, Title string
	Tables                      []pageTable
	Notes                       []string
	Wrong                       []string
	Plots                       []pagePlot
}

// pagePlot is a figure with its caption.
type pagePlot struct {
	SVG     template.HTML
	Caption string
}

// pageTable is a table whose rows have the same cells.
type pageTable struct {
	ID, Caption, Label string
	Groups             []pageGroup
	Compared           bool // there is a second line of heads
	Remarks            bool // there is a last column of remarks
	Unchecked          bool // a difference is marked as not checked
	Rows               []pageRow
}

// pageGroup is a measure with its columns: the value alone, or with the published
// figure and the difference.
type pageGroup struct {
	Name     string
	Compared bool
}

// Span is the number of columns.
func (g pageGroup) Span() int {
	if g.Compared {
		return 3
	}
	return 1
}

type pageRow struct {
	Label  string
	Cells  []pageCell
	Remark string
}

type pageCell struct {
	Text  string
	Wrong bool
}

// writePage writes all tables and plots as one page that needs nothing else.
func writePage(file string, args []string, tables []*table) error {
	p := page{
		Date: time.Now().UTC().Format("2 January 2006, 15:04 UTC"), Version: version(),
		Command: strings.Join(append([]string{"go run ./bench/lab"}, args...), " "),
	}
	for _, t := range tables {
		sec := section{Step: t.step, Heading: t.heading, Shows: t.shows, Title: t.title, Notes: t.notes, Wrong: t.disagreements()}
		for i, b := range t.blocks() {
			caption := t.title
			if i > 0 {
				caption += " (rows with other measures)"
			}
			pt := b.page(fmt.Sprintf("%s-table-%d", t.step, i+1), caption)
			sec.Tables = append(sec.Tables, pt)
			p.Compared = p.Compared || pt.Compared
		}
		for _, f := range t.plots {
			svg, err := f.svg()
			if err != nil {
				return err
			}
			sec.Plots = append(sec.Plots, pagePlot{template.HTML(svg), f.caption()})
		}
		p.Sections = append(p.Sections, sec)
	}
	var b strings.Builder
	if err := reportTemplate.Execute(&b, p); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("the page was not written: %w", err)
	}
	return nil
}

// page is the block for the page.
func (b block) page(id, caption string) pageTable {
	t := pageTable{ID: id, Caption: caption, Label: b.label}
	for k, m := range b.rows[0].measures {
		g := pageGroup{m.name, b.compared(k)}
		t.Groups, t.Compared = append(t.Groups, g), t.Compared || g.Compared
	}
	for _, r := range b.rows {
		row := pageRow{Label: r.label, Remark: r.text}
		t.Remarks = t.Remarks || r.text != ""
		for k, m := range r.measures {
			row.Cells = append(row.Cells, pageCell{Text: m.format(m.value)})
			if !t.Groups[k].Compared {
				continue
			}
			diff := pageCell{Text: m.difference(), Wrong: !m.agrees()}
			if m.compared() && !m.checked() {
				diff.Text += " *"
				t.Unchecked = true
			}
			row.Cells = append(row.Cells, pageCell{Text: m.format(m.published)}, diff)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// version is what the program was built from.
func version() string {
	revision := "revision not recorded (go run -buildvcs=true records it)"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = "revision " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				revision += " with changes"
			}
		}
	}
	return fmt.Sprintf("%s, %s on %s/%s", revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
