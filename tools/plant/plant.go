package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A bug is a change of one file that the tests must notice.
type bug struct {
	name     string   // what is wrong
	file     string   // from the root of the repository
	old, new string   // old must occur exactly once
	tests    []string // the packages that should notice, as patterns from the root
}

// check finds what is wrong with the bugs themselves.
func check(root string, bugs []bug) error {
	var errs []error
	names := map[string]bool{}
	for _, b := range bugs {
		if names[b.name] {
			errs = append(errs, fmt.Errorf("two bugs are called %q", b.name))
		}
		names[b.name] = true
		if len(b.tests) == 0 {
			errs = append(errs, fmt.Errorf("%q names no package that should notice", b.name))
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
		return nil, fmt.Errorf("%q: %w", b.name, err)
	}
	if n := bytes.Count(text, []byte(b.old)); n != 1 || b.old == b.new {
		return nil, fmt.Errorf("%q: its pattern occurs %d times in %s and must occur once, and be changed:\n%s", b.name, n, b.file, b.old)
	}
	return bytes.Replace(text, []byte(b.old), []byte(b.new), 1), nil
}

// A verdict is what has become of a bug.
type verdict struct {
	caught bool
	by     string // which test caught it
	err    error  // it could not be planted
}

func (v verdict) word() string {
	switch {
	case v.err != nil:
		return "ERROR"
	case v.caught:
		return "caught"
	}
	return "MISSED"
}

// A field is where bugs are planted.
type field struct {
	root    string
	timeout time.Duration // of one package's tests
	rapid   map[string]bool
}

// healthy is an error if the tests fail as they are.
func (f *field) healthy(ctx context.Context, packages []string) error {
	out, err := f.test(ctx, "", packages)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the tests fail without a bug, so that nothing can be learnt:\n%s", tail(out))
	}
	return context.Cause(ctx)
}

// plant runs the tests with one bug.
func (f *field) plant(ctx context.Context, b bug) verdict {
	text, err := b.apply(f.root)
	if err != nil {
		return verdict{err: err}
	}
	dir, err := os.MkdirTemp("", "plant-")
	if err != nil {
		return verdict{err: err}
	}
	defer os.RemoveAll(dir)
	planted, overlay := filepath.Join(dir, filepath.Base(b.file)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(f.root, b.file): planted}})
	if err := errors.Join(err, os.WriteFile(planted, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return verdict{err: err}
	}
	out, err := f.test(ctx, overlay, b.tests)
	var failed *exec.ExitError
	switch {
	case err == nil:
		return verdict{}
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) || !errors.As(err, &failed):
		return verdict{err: fmt.Errorf("it cannot be planted: %w\n%s", err, tail(out))}
	}
	return verdict{caught: true, by: catcher(out)}
}

var (
	failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	endOfTests = regexp.MustCompile(`(?m)^(panic: test timed out|panic: |fatal error: |goleak: )`)
)

// catcher names the test that failed first, for the reader.
func catcher(out []byte) string {
	if m := failedTest.FindSubmatch(out); m != nil {
		return "by " + string(m[1]) + ", "
	}
	if m := endOfTests.FindSubmatch(out); m != nil {
		return "by " + strings.Trim(string(m[1]), ": ") + ", "
	}
	return ""
}

// tail is the part of an output that tells most.
func tail(out []byte) string {
	const most = 4000
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return strings.TrimSpace(string(out))
}

// test runs the tests of packages, with an overlay if there is one.
func (f *field) test(ctx context.Context, overlay string, packages []string) ([]byte, error) {
	// A package with many tests has to be built and linked too.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(len(packages))*f.timeout+3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	var errs []error
	for _, group := range f.byRapid(ctx, packages) {
		args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", f.timeout.String()}
		if overlay != "" {
			args = append(args, "-overlay", overlay)
		}
		args = append(args, group.packages...)
		if group.rapid {
			args = append(args, "-rapid.nofailfile") // a failure is expected here, and no news
		}
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = f.root
		cmd.Stdout, cmd.Stderr = &out, &out
		// The test binary is the go command's child: both must end.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		cmd.WaitDelay = 5 * time.Second
		if err := cmd.Run(); err != nil {
			errs = append(errs, err)
		}
	}
	return out.Bytes(), errors.Join(errs...)
}

type group struct {
	packages []string
	rapid    bool
}

// byRapid divides packages into those whose tests know rapid's flags and those
// that would refuse them.
func (f *field) byRapid(ctx context.Context, packages []string) []group {
	if f.rapid == nil {
		f.rapid = map[string]bool{}
	}
	with, without := group{rapid: true}, group{}
	for _, p := range packages {
		uses, known := f.rapid[p]
		if !known {
			cmd := exec.CommandContext(ctx, "go", "list", "-f", "{{.TestImports}} {{.XTestImports}}", p)
			cmd.Dir = f.root
			out, err := cmd.Output()
			uses = err == nil && bytes.Contains(out, []byte("pgregory.net/rapid"))
			f.rapid[p] = uses
		}
		if uses {
			with.packages = append(with.packages, p)
		} else {
			without.packages = append(without.packages, p)
		}
	}
	var groups []group
	for _, g := range []group{without, with} {
		if len(g.packages) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}
