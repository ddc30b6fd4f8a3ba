package main

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"text/template"
)

//go:embed document.md.tmpl
var documentText string

var document = template.Must(template.New("document").Funcs(template.FuncMap{
	"table": func(r result, repeat int) string { return tableOf(r, repeat).markdown() },
	"join":  strings.Join,
}).Parse(documentText))

// OfStep are the results of one step.
func (r report) OfStep(step string) []result {
	var results []result
	for _, result := range r.Results {
		if result.Step == step {
			results = append(results, result)
		}
	}
	return results
}

// Failed are the verdicts that failed.
func (r report) Failed() []verdict {
	var failed []verdict
	for _, v := range r.Verdicts {
		if !v.OK {
			failed = append(failed, v)
		}
	}
	return failed
}

// writeDocument writes the report to a file, as Markdown.
func writeDocument(file string, r report) error {
	var text strings.Builder
	if err := document.Execute(&text, r); err != nil {
		return fmt.Errorf("cannot write the document: %w", err)
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}
