package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A suite is the tests of one package. Its exported fields are those of go list.
type suite struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports []string

	binary string
}

// suitesOf finds the packages that have tests, in the order of the go command.
func suitesOf(ctx context.Context, dir string, patterns []string) ([]*suite, error) {
	args := append([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,TestImports,XTestImports"}, patterns...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(patterns, " "), err, tail(failure.Bytes()))
	}
	var all []*suite
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var s suite
		if err := d.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(s.files()) > 0 {
			all = append(all, &s)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no tests in %s", strings.Join(patterns, " "))
	}
	return all, nil
}

func (s *suite) files() []string { return slices.Concat(s.TestGoFiles, s.XTestGoFiles) }

// build compiles the tests into a file in dir, with an overlay if there is one.
func (s *suite) build(ctx context.Context, dir, overlay string) error {
	s.binary = filepath.Join(dir, strings.ReplaceAll(s.ImportPath, "/", "+")+".test")
	args := []string{"test", "-c", "-vet=off", "-o", s.binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, s.ImportPath)...)
	cmd.Dir = s.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(out))
	}
	return nil
}

// run runs the tests that are named, or all if none is, until one fails.
func (s *suite) run(ctx context.Context, timeout time.Duration, tests []string) ([]byte, error) {
	// The tests end by themselves at the timeout, unless the bug keeps them from it.
	ctx, cancel := context.WithTimeout(ctx, timeout+time.Minute)
	defer cancel()
	args := []string{"-test.failfast", "-test.paniconexit0", "-test.timeout=" + timeout.String()}
	if len(tests) > 0 {
		args = append(args, "-test.run=^("+strings.Join(tests, "|")+")$")
	}
	if slices.Contains(slices.Concat(s.TestImports, s.XTestImports), "pgregory.net/rapid") {
		args = append(args, "-rapid.nofailfile") // a failure is expected here, and no news
	}
	cmd := exec.CommandContext(ctx, s.binary, args...)
	cmd.Dir = s.Dir
	// What the tests have started must end with them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.CombinedOutput()
}

var testName = regexp.MustCompile(`^(Test|Example|Fuzz)([^a-z]|$)`)

// testsFor names the tests in the files that belong to a source file: eject_test.go
// and eject_model_test.go to eject.go.
func (s *suite) testsFor(file string) []string {
	stem := strings.TrimSuffix(filepath.Base(file), ".go") + "_"
	var tests []string
	for _, name := range s.files() {
		if !strings.HasPrefix(name, stem) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler has more to say about it
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	return tests
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
