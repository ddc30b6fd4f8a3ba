package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A field is where bugs are planted. Several goroutines may plant at the same time.
type field struct {
	root    string
	timeout time.Duration // of one package's tests
	jobs    int           // how many packages are tested at the same time without a bug

	mu    sync.Mutex
	sound map[string]error // by the directory of a module: whether all its tests pass without a bug
}

// healthy is an error if the tests of packages fail as they are.
func (f *field) healthy(ctx context.Context, dir string, patterns []string) error {
	dirOfBinaries, err := os.MkdirTemp("", "plant-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dirOfBinaries)
	suites, err := suitesOf(ctx, dir, patterns)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(f.jobs)
	for _, s := range suites {
		group.Go(func() error { return f.passes(ctx, s, dirOfBinaries) })
	}
	return group.Wait()
}

// passes is an error if the tests of a package fail as they are.
func (f *field) passes(ctx context.Context, s *suite, dir string) error {
	if err := s.build(ctx, dir, ""); err != nil {
		return fmt.Errorf("the tests do not compile without a bug; first make this work: go test %s\n%w", s.ImportPath, err)
	}
	out, err := s.run(ctx, f.timeout, nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the tests fail without a bug, so that nothing can be learnt; first make this pass: go test %s\n%s", s.ImportPath, tail(out))
	}
	return nil
}

// plant runs the tests with one bug: first those of the files that belong to the
// bug's file, then all of the packages that it names, then those of its module.
func (f *field) plant(ctx context.Context, b bug) verdict {
	dir, err := os.MkdirTemp("", "plant-")
	if err != nil {
		return verdict{err: err}
	}
	defer os.RemoveAll(dir)
	overlay, err := f.overlay(dir, b)
	if err != nil {
		return verdict{err: err}
	}
	named, err := suitesOf(ctx, f.root, b.tests)
	if err != nil {
		return verdict{err: err}
	}
	for _, s := range named {
		if err := s.build(ctx, dir, overlay); err != nil {
			return verdict{err: fmt.Errorf("%w\nit does not compile: correct its new text in tools/plant/bugs_*.go:\n%s", err, b.change())}
		}
	}
	for _, s := range named {
		if tests := s.testsFor(b.file); len(tests) > 0 {
			if v, over := f.try(ctx, s, tests); over {
				return v
			}
		}
	}
	for _, s := range named {
		if v, over := f.try(ctx, s, nil); over {
			return v
		}
	}
	return f.elsewhere(ctx, b, dir, overlay, named)
}

// try runs tests in which a bug is planted. The verdict is over unless they pass.
func (f *field) try(ctx context.Context, s *suite, tests []string) (v verdict, over bool) {
	out, err := s.run(ctx, f.timeout, tests)
	var failed *exec.ExitError
	switch {
	case err == nil:
		return verdict{}, false
	case !errors.As(err, &failed):
		return verdict{err: fmt.Errorf("the tests of %s cannot be run: %w", s.ImportPath, err)}, true
	}
	return verdict{caught: true, by: catcher(out)}, true
}

// elsewhere runs the tests of the packages in the bug's module that it does not
// name.
func (f *field) elsewhere(ctx context.Context, b bug, dir, overlay string, named []*suite) verdict {
	module := f.moduleOf(b.file)
	suites, err := suitesOf(ctx, module, []string{"./..."})
	if err != nil {
		return verdict{err: err}
	}
	suites = slices.DeleteFunc(suites, func(s *suite) bool {
		return slices.ContainsFunc(named, func(n *suite) bool { return n.ImportPath == s.ImportPath })
	})
	if len(suites) == 0 {
		return verdict{}
	}
	if err := f.moduleIsSound(ctx, module); err != nil {
		return verdict{err: err}
	}
	for _, s := range suites {
		if err := s.build(ctx, dir, overlay); err != nil {
			return verdict{err: err}
		}
		if v, over := f.try(ctx, s, nil); over {
			v.unnamed = s.ImportPath
			return v
		}
	}
	return verdict{}
}

// moduleIsSound runs all tests of a module without a bug, once.
func (f *field) moduleIsSound(ctx context.Context, module string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err, known := f.sound[module]
	if !known {
		err = f.healthy(ctx, module, []string{"./..."})
		if f.sound == nil {
			f.sound = map[string]error{}
		}
		f.sound[module] = err
	}
	return err
}

// moduleOf is the directory of the module that a file belongs to.
func (f *field) moduleOf(file string) string {
	dir := filepath.Dir(filepath.Join(f.root, file))
	for dir != f.root {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// overlay writes what the go command needs to see the bug, and returns its path.
func (f *field) overlay(dir string, b bug) (string, error) {
	text, err := b.apply(f.root)
	if err != nil {
		return "", err
	}
	planted, overlay := filepath.Join(dir, filepath.Base(b.file)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(f.root, b.file): planted}})
	return overlay, errors.Join(err, os.WriteFile(planted, text, 0o600), os.WriteFile(overlay, list, 0o600))
}

// tail is the part of an output that tells most.
func tail(out []byte) string {
	const most = 4000
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return strings.TrimSpace(string(out))
}
