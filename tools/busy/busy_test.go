package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args, test  string
		times, load int
	}{
		{"", "test -count=1 work", 20, runtime.NumCPU()},
		{"-times 3 -load 0", "test -count=1 work", 3, 0},
		{"-race -load 7", "test -count=1 -race work", 20, 7},
		{"-run TestA ./a ./b", "test -count=1 -run TestA ./a ./b", 20, runtime.NumCPU()},
	} {
		p, err := parse(strings.Fields(c.args), io.Discard)
		require.NoError(t, err)
		assert.Equal(t, plan{c.times, c.load, strings.Fields(c.test)}, p, c.args)
	}
	for args, want := range map[string]string{
		"-times 0": "-times must be above 0", "-load -1": "-load must not be negative", "-slow": "not defined", "-times many": "invalid value",
	} {
		_, err := parse(strings.Fields(args), io.Discard)
		require.ErrorContains(t, err, want)
	}
}

// What still ran after stop would be a leak to goleak.
func TestLoad(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	for _, n := range []int{0, 1, 5} {
		l := startLoad(n)
		assert.Equal(t, max(n, 1)+1, runtime.GOMAXPROCS(0), "no thread waits for another one")
		l.stop()
		goleak.VerifyNone(t)
		assert.Equal(t, procs, runtime.GOMAXPROCS(0))
		runtime.GOMAXPROCS(procs + 1)
		l.stop()
		assert.Equal(t, procs+1, runtime.GOMAXPROCS(procs), "the second stop does nothing")
	}
}

// repoWith is a repository of one package with tests.
func repoWith(t *testing.T, tests string) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.work":       "go 1.25.0\n\nuse .\n",
		"go.mod":        "module example.com/small\n\ngo 1.25.0\n",
		"small_test.go": "package small\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" + tests,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Setenv("GOFLAGS", "") // whatever the caller's are
	return dir
}

func runIn(ctx context.Context, dir string, args ...string) (string, error) {
	var out bytes.Buffer
	err := run(ctx, dir, append([]string{"-load", "1"}, args...), &out)
	return out.String(), err
}

func TestAllPass(t *testing.T) {
	out, err := runIn(t.Context(), repoWith(t, `func TestA(*testing.T) { _ = os.Args }`), "-times", "2")
	require.NoError(t, err)
	assert.Regexp(t, `^ 1/2 \d+ s ok\n 2/2 \d+ s ok\n$`, out)
}

// The second of three runs fails.
func TestOneFails(t *testing.T) {
	dir := repoWith(t, `func TestTurns(t *testing.T) {
	switch _, err := os.Stat("second"); {
	case err == nil:
		os.Rename("second", "third")
		t.Fatal("the second")
	default:
		if _, err := os.Stat("third"); err != nil {
			os.WriteFile("second", nil, 0o600)
		}
	}
}
`)
	out, err := runIn(t.Context(), dir, "-times", "3")
	require.EqualError(t, err, "1 of 3 runs failed")
	assert.Regexp(t, `^ 1/3 \d+ s ok\n 2/3 \d+ s FAILED TestTurns\n 3/3 \d+ s ok\n=== run 2: exit status 1\n--- FAIL: TestTurns`, out)
	assert.Contains(t, out, "the second")
	assert.NotContains(t, out, "ok  \t")
}

func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := repoWith(t, `func TestHangs(*testing.T) { os.WriteFile("begun", nil, 0o600); select {} }`)
	go func() { // Ctrl-C as soon as the test runs
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				return
			}
			runtime.Gosched()
		}
	}()
	out, err := runIn(ctx, dir, "-times", "9")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "stopped; 0 runs had failed")
	assert.Empty(t, out)
}

func TestFailures(t *testing.T) {
	assert.Equal(t, "TestA, TestA/b", failures("--- FAIL: TestA (0s)\n    --- FAIL: TestA/b (0s)\nFAIL\nFAIL\texample.com/a\t0.1s\n"))
	assert.Equal(t, "example.com/a", failures("# example.com/a\nundefined: x\nFAIL\texample.com/a [build failed]\nok  \tb\t0.1s\n"))
	assert.Equal(t, "FAIL\tb\n", withoutPasses("ok  \ta\t0.1s\n?   \tc\t[no test files]\nFAIL\tb\n"))
}
