package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A bug is a change of one file that the tests must notice.
type bug struct {
	name     string   // what is wrong
	file     string   // from the root of the repository
	old, new string   // old must occur exactly once
	tests    []string // the packages that should notice, as patterns from the root
}

func (b bug) String() string { return b.file + ": " + b.name }

// change shows the bug as a diff does.
func (b bug) change() string {
	var text strings.Builder
	for _, side := range []struct{ sign, lines string }{{"-", b.old}, {"+", b.new}} {
		for line := range strings.Lines(side.lines) {
			fmt.Fprintf(&text, "\t%s %s\n", side.sign, strings.TrimSuffix(line, "\n"))
		}
	}
	return text.String()
}

// packagesOf are all packages that the bugs name, each once.
func packagesOf(bugs []bug) []string {
	var all []string
	for _, b := range bugs {
		all = append(all, b.tests...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// check finds what is wrong with the bugs themselves.
func check(root string, bugs []bug) error {
	var errs []error
	names := map[string]bool{}
	for _, b := range bugs {
		if names[b.name] {
			errs = append(errs, fmt.Errorf("two bugs are called %q: rename one in tools/plant/bugs_*.go", b.name))
		}
		names[b.name] = true
		if len(b.tests) == 0 {
			errs = append(errs, fmt.Errorf("%q names no package that should notice: add one in tools/plant/bugs_*.go", b.name))
		}
		if _, err := b.apply(root); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// apply returns the bug's file with the bug in it.
func (b bug) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return nil, fmt.Errorf("%q: %w; correct its file in tools/plant/bugs_*.go", b.name, err)
	}
	if b.old == b.new {
		return nil, fmt.Errorf("%q changes nothing: its old and its new text in tools/plant/bugs_*.go are the same", b.name)
	}
	if n := bytes.Count(text, []byte(b.old)); n != 1 {
		return nil, fmt.Errorf("%q: its old text occurs %d times in %s and must occur once; write it in tools/plant/bugs_*.go as the code is now:\n%s", b.name, n, b.file, b.change())
	}
	return bytes.Replace(text, []byte(b.old), []byte(b.new), 1), nil
}

// A verdict is what has become of a bug.
type verdict struct {
	caught  bool
	by      string // which test caught it
	unnamed string // the package that caught it, if the bug does not name it
	err     error  // it could not be planted
}

func (v verdict) word() string {
	switch {
	case v.err != nil:
		return "ERROR "
	case v.caught:
		return "caught"
	}
	return "MISSED"
}

// advice says what to do, in whole lines.
func (v verdict) advice(b bug) string {
	switch {
	case v.err != nil:
		return fmt.Sprintf("%v\n", v.err)
	case !v.caught:
		return fmt.Sprintf("\tNo test fails with this change:\n%s\tAdd a test that does to one of %s. If the change breaks no rule, remove the bug from tools/plant/bugs_*.go.\n",
			b.change(), strings.Join(b.tests, ", "))
	case v.unnamed != "":
		return fmt.Sprintf("\tOnly the tests of %s notice it: add a test to one of %s, or name that package in tools/plant/bugs_*.go.\n",
			v.unnamed, strings.Join(b.tests, ", "))
	}
	return ""
}
