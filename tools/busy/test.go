package main

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// test runs the go command once. If the context ends, so does everything that the
// go command has started.
func test(ctx context.Context, dir string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var (
	failedTest    = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	failedPackage = regexp.MustCompile(`(?m)^FAIL\s+(\S+)`)
)

// failures names the tests that failed, or else the packages.
func failures(output string) string {
	var names []string
	for _, pattern := range []*regexp.Regexp{failedTest, failedPackage} {
		for _, m := range pattern.FindAllStringSubmatch(output, -1) {
			names = append(names, m[1])
		}
		if len(names) > 0 {
			break
		}
	}
	return strings.Join(slices.Compact(names), ", ")
}

// withoutPasses leaves the packages out that have passed or hold no tests.
func withoutPasses(output string) string {
	var text strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "ok  \t") && !strings.HasPrefix(line, "?   \t") {
			text.WriteString(line)
		}
	}
	return text.String()
}
