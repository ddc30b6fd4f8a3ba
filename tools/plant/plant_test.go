package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Who changes a line that a bug is planted in learns it here, and mends the bug.
func TestEveryBugCanBePlanted(t *testing.T) {
	root, err := repo.Root()
	require.NoError(t, err)
	require.NoError(t, check(root, bugs))
}

// small is a repository with one function and a test that knows half of what it
// should.
func small(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range map[string]string{
		"go.work": "go 1.25.0\n\nuse .\n",
		"go.mod":  "module example.com/small\n\ngo 1.25.0\n",
		"abs.go": `package small

// Abs is the absolute value.
func Abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
`,
		"abs_test.go": `package small

import "testing"

func TestAbs(t *testing.T) {
	if Abs(-3) != 3 {
		t.Fatal(Abs(-3))
	}
}
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Setenv("GOFLAGS", "") // whatever the caller's are
	return dir
}

func plantIn(t *testing.T, dir string, bugs []bug, args ...string) (string, error) {
	var out bytes.Buffer
	err := run(t.Context(), dir, bugs, args, &out)
	return out.String(), err
}

var (
	noticed = bug{"the sign stays", "abs.go", "return -n", "return n", []string{"."}}
	missed  = bug{"what is positive is doubled", "abs.go", "\treturn n\n", "\treturn 2 * n\n", []string{"."}}
	hangs   = bug{"it never ends", "abs.go", "return -n", "select {}", []string{"."}}
	nothing = bug{"it does not compile", "abs.go", "return -n", "return m", []string{"."}}
)

func TestCaught(t *testing.T) {
	dir := small(t)
	out, err := plantIn(t, dir, []bug{noticed})
	require.NoError(t, err, out)
	assert.Contains(t, out, "1/1 caught abs.go: the sign stays (by TestAbs, ")
	assert.Contains(t, out, "caught 1 of 1")
	text, err := os.ReadFile(filepath.Join(dir, "abs.go"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "return -n", "the source is as it was")
}

func TestMissed(t *testing.T) {
	out, err := plantIn(t, small(t), []bug{noticed, missed})
	require.EqualError(t, err, "1 missed, 0 could not be planted")
	assert.Contains(t, out, "2/2 MISSED abs.go: what is positive is doubled (")
	assert.Contains(t, out, "caught 1 of 2")
}

func TestATestThatHangsHasNoticed(t *testing.T) {
	out, err := plantIn(t, small(t), []bug{hangs}, "-timeout", "1s")
	require.NoError(t, err, out)
	assert.Contains(t, out, "caught abs.go: it never ends (by ")
}

func TestWhatDoesNotCompileIsNotCaught(t *testing.T) {
	out, err := plantIn(t, small(t), []bug{nothing})
	require.EqualError(t, err, "0 missed, 1 could not be planted")
	assert.Contains(t, out, "ERROR")
	assert.Contains(t, out, "undefined: m")
}

func TestTestsThatFailWithoutABugProveNothing(t *testing.T) {
	dir := small(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b_test.go"), []byte("package small\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Fatal(1) }\n"), 0o644))
	_, err := plantIn(t, dir, []bug{noticed})
	require.ErrorContains(t, err, "the tests fail without a bug")
	require.ErrorContains(t, err, "--- FAIL: TestB")
}

func TestBugsThatCannotBePlanted(t *testing.T) {
	dir := small(t)
	for _, c := range []struct {
		change func(*bug)
		want   string
	}{
		{func(b *bug) { b.old = "return nothing" }, "occurs 0 times"},
		{func(b *bug) { b.old = "return" }, "occurs 2 times"},
		{func(b *bug) { b.new = b.old }, "must occur once, and be changed"},
		{func(b *bug) { b.file = "gone.go" }, "gone.go"},
		{func(b *bug) { b.tests = nil }, "names no package"},
		{func(b *bug) { b.name = missed.name }, `two bugs are called "what is positive is doubled"`},
	} {
		b := noticed
		c.change(&b)
		_, err := plantIn(t, dir, []bug{missed, b})
		require.ErrorContains(t, err, c.want)
	}
}

func TestWhichBugs(t *testing.T) {
	dir := small(t)
	all := []bug{noticed, missed, hangs}
	list := func(args ...string) string {
		out, err := plantIn(t, dir, all, append(args, "-list")...)
		require.NoError(t, err)
		return out
	}
	assert.Equal(t, "abs.go: the sign stays\nabs.go: what is positive is doubled\nabs.go: it never ends\n", list())
	assert.Equal(t, "abs.go: the sign stays\nabs.go: it never ends\n", list("-run", "sign|never"))
	assert.Len(t, list("-run", "abs", "-sample", "9"), len(list()))
	assert.Equal(t, list("-sample", "2", "-seed", "5"), list("-sample", "2", "-seed", "5"))
	seen := map[string]bool{}
	for seed := range 20 {
		seen[list("-sample", "1", "-seed", strconv.Itoa(seed))] = true
	}
	assert.Len(t, seen, 3)

	for args, want := range map[string]string{
		"-run=(": "no regular expression", "-run=nobody": `no bug matches "nobody"`, "-sample=-1": "-sample must not", "-timeout=0s": "-timeout must", "stray": "no arguments",
	} {
		_, err := plantIn(t, dir, all, args)
		require.ErrorContains(t, err, want)
	}
}

func TestCtrlC(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	require.ErrorIs(t, run(ctx, small(t), []bug{hangs}, nil, &out), context.Canceled)
}

func TestCatcher(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\n": "by TestA, ",
		"panic: test timed out after 1s\n":                       "by panic: test timed out, ",
		"panic: oh no\n\ngoroutine 1":                            "by panic, ",
		"fatal error: all goroutines are asleep":                 "by fatal error, ",
		"goleak: Errors on successful test run":                  "by goleak, ",
		"FAIL":                                                   "",
	} {
		assert.Equal(t, want, catcher([]byte(out)))
	}
}

func Example() {
	b := bug{name: "the sum is off by one", file: "sum.go", old: "a + b", new: "a + b + 1"}
	dir, err := os.MkdirTemp("", "plant")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "sum.go"), []byte("return a + b\n"), 0o600); err != nil {
		panic(err)
	}
	text, err := b.apply(dir)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write(text)
	// Output: return a + b + 1
}
