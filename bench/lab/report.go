package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
)

//go:embed report.html.tmpl
var reportText string

func escape(s string) string { return template.HTMLEscapeString(s) }

// readmePlots are the figures that the README shows.
var readmePlots = []string{"policies", "stale", "sick"}

// write writes the page and the plots that were asked for.
func (s *settings) write(tables []*table) error {
	if s.html != "" {
		if err := writePage(s.html, tables); err != nil {
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
			for _, name := range readmePlots {
				if f.name != name {
					continue
				}
				svg, err := f.svg()
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(s.svg, name+".svg"), []byte(svg), 0o644); err != nil {
					return badFlag("svg", "%v", err)
				}
			}
		}
	}
	return nil
}

// section is one step on the page.
type section struct {
	Step, Title string
	Blocks      []pageBlock
	Notes       []string
	Wrong       []string
	Plots       []template.HTML
}

// pageBlock is a table whose rows have the same cells.
type pageBlock struct {
	Head []string
	Rows [][]string
}

// writePage writes all tables and plots as one page that needs nothing else.
func writePage(file string, tables []*table) error {
	tmpl, err := template.New("report").Parse(reportText)
	if err != nil {
		return err
	}
	var sections []section
	for _, t := range tables {
		sec := section{Step: t.step, Title: t.title, Notes: t.notes, Wrong: t.disagreements()}
		for _, b := range t.blocks() {
			pb := pageBlock{Head: b[0]}
			for _, line := range b[1:] {
				if len(line) > len(pb.Head) {
					pb.Head = append(pb.Head, "")
				}
				pb.Rows = append(pb.Rows, line)
			}
			sec.Blocks = append(sec.Blocks, pb)
		}
		for _, f := range t.plots {
			svg, err := f.svg()
			if err != nil {
				return err
			}
			sec.Plots = append(sec.Plots, template.HTML(svg))
		}
		sections = append(sections, sec)
	}
	var b strings.Builder
	if err := tmpl.Execute(&b, sections); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("the page was not written: %w", err)
	}
	return nil
}
