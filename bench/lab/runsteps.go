package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// runSteps runs the chosen steps, or all.
func runSteps(ctx context.Context, s *settings, chosen []string, stdout io.Writer, stderr *os.File) error {
	published, err := loadPublished()
	if err != nil {
		return err
	}
	l := &lab{engine: newEngine(ctx, s.parallel, s.seeds), published: published, scale: s.scale}
	p := startProgress(l.engine, stderr)
	defer p.end()
	var list []step
	var reports []report
	for _, st := range steps {
		if len(chosen) > 0 && !slices.Contains(chosen, st.name) {
			continue
		}
		r, err := st.start(l)
		if err != nil {
			return err
		}
		list, reports = append(list, st), append(reports, r)
	}
	var tables []*table
	var wrong []string
	print := s.printer(stdout)
	var failed error
	for i, r := range reports {
		p.waitFor(list[i].name)
		t, err := r(ctx)
		if err != nil {
			failed = err
			break
		}
		p.clear()
		if err := print.print(t); err != nil {
			return err
		}
		p.note("%s: done after %s", t.step, p.elapsed())
		tables = append(tables, t)
		wrong = append(wrong, t.disagreements()...)
	}
	if failed != nil && ctx.Err() != nil {
		p.note("interrupted after %s: %d of %d steps were done", p.elapsed(), len(tables), len(list))
	}
	if err := s.write(tables); err != nil {
		return err
	}
	switch {
	case failed != nil:
		return failed
	case s.check && len(wrong) > 0:
		return fmt.Errorf("%d figures do not agree with what was published:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	case s.check:
		checked, unchecked := 0, 0
		for _, t := range tables {
			c, u := t.counts()
			checked, unchecked = checked+c, unchecked+u
		}
		p.note("checked: %d figures of %d steps agree with what was published; %d more stand beside a published figure and are not checked",
			checked, len(tables), unchecked)
	}
	return nil
}
