package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Who changes a line that a bug is planted in learns it here, or from the command:
// the go command may repeat an old result of this test, since the code is that of
// another module.
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
	require.ErrorContains(t, err, "1 missed, 0 could not be planted")
	assert.Contains(t, out, "/2 MISSED abs.go: what is positive is doubled (")
	assert.Contains(t, out, "No test fails with this change:\n\t- \treturn n\n\t+ \treturn 2 * n\n\tAdd a test that does to one of .. ")
	assert.Contains(t, out, "caught 1 of 2")
}

func TestATestThatHangsHasNoticed(t *testing.T) {
	out, err := plantIn(t, small(t), []bug{hangs}, "-timeout", "1s")
	require.NoError(t, err, out)
	assert.Contains(t, out, "caught abs.go: it never ends (by ")
}

func TestWhatDoesNotCompileIsNotCaught(t *testing.T) {
	out, err := plantIn(t, small(t), []bug{nothing})
	require.ErrorContains(t, err, "0 missed, 1 could not be planted")
	assert.Contains(t, out, "ERROR")
	assert.Contains(t, out, "undefined: m")
	assert.Contains(t, out, "it does not compile: correct its new text in tools/plant/bugs_*.go:\n\t- return -n\n\t+ return m\n")
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
		{func(b *bug) { b.new = b.old }, "changes nothing"},
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

// A share is refused for a bug of another turn too.
func TestBugsOfOtherTurnsMustFit(t *testing.T) {
	stale := missed
	stale.old = "return nothing"
	for _, turn := range []string{"0", "1"} {
		_, err := plantIn(t, small(t), []bug{noticed, stale}, "-share", "1", "-turn", turn, "-list")
		require.ErrorContains(t, err, "occurs 0 times")
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
	assert.Equal(t, "abs.go: it never ends\n", list("-run", "never"))
	assert.Equal(t, list(), list("-run", "^abs.go$", "-share", "3", "-turn", "8"))
	assert.Equal(t, "abs.go: what is positive is doubled\n", list("-share", "2", "-turn", "7"))

	for args, want := range map[string]string{
		"-run=(": "no regular expression", "-run=nobody": `no bug matches "nobody"`, "-share=-1": "-share and -turn must not", "-turn=-1": "-share and -turn must not", "-jobs=0": "-jobs and -timeout must",
		"-timeout=0s": "-timeout must", "stray": "no arguments",
	} {
		_, err := plantIn(t, dir, all, args)
		require.ErrorContains(t, err, want)
	}
}

// As many turns as it takes, wherever they begin, plant every bug exactly once.
func TestEveryBugHasItsTurn(t *testing.T) {
	for n := 1; n <= 30; n++ {
		var all []bug
		for i := range n {
			all = append(all, bug{name: string(rune('A' + i))})
		}
		for share := 1; share <= n+1; share++ {
			turns := (n + share - 1) / share
			for first := range 2*turns + 1 {
				times := map[string]int{}
				for turn := first; turn < first+turns; turn++ {
					dealt := deal(all, share, turn)
					assert.LessOrEqual(t, len(dealt), share)
					for _, b := range dealt {
						times[b.name]++
					}
				}
				require.Len(t, times, n, "%d bugs in shares of %d, from turn %d", n, share, first)
				for name, k := range times {
					require.Equal(t, 1, k, "bug %s of %d in shares of %d, from turn %d", name, n, share, first)
				}
			}
		}
	}
	assert.Len(t, deal(make([]bug, 9), 0, 4), 9, "without a share all of them")
}

// add writes more files into a repository.
func add(t *testing.T, dir string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// A package that the bug does not name is asked last, and the reader learns so.
func TestCaughtElsewhere(t *testing.T) {
	dir := small(t)
	add(t, dir, map[string]string{"user/user_test.go": `package user

import (
	"testing"

	"example.com/small"
)

func TestUser(t *testing.T) {
	if small.Abs(3) != 3 {
		t.Fatal(small.Abs(3))
	}
}
`})
	out, err := plantIn(t, dir, []bug{noticed, missed})
	require.NoError(t, err, out)
	assert.Contains(t, out, "caught abs.go: what is positive is doubled (by TestUser, ")
	assert.Contains(t, out, "\tOnly the tests of example.com/small/user notice it: add a test to one of ., or name that package")

	add(t, dir, map[string]string{"other/other_test.go": "package other\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) { t.Fatal(1) }\n"})
	out, err = plantIn(t, dir, []bug{missed})
	require.ErrorContains(t, err, "0 missed, 1 could not be planted", "tests that fail anyway prove nothing")
	assert.Contains(t, out, "first make this pass: go test example.com/small/other")
	_, err = plantIn(t, dir, []bug{noticed})
	require.NoError(t, err, "and are not asked where the bug is caught before")
}

// The tests that stand beside the bug's file come first.
func TestWhichTestsRunFirst(t *testing.T) {
	dir := small(t)
	add(t, dir, map[string]string{
		"aaa_test.go":       "package small\n\nimport \"testing\"\n\nfunc TestFirstInTheAlphabet(t *testing.T) {\n\tif Abs(-1) != 1 {\n\t\tt.Fatal()\n\t}\n}\n",
		"abs_model_test.go": "package small\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { m.Run() }\n\nfunc TestModel(t *testing.T) {}\n\nfunc Tester() {}\n\nfunc ExampleAbs() {}\n",
		"absent_test.go":    "package small\n\nimport \"testing\"\n\nfunc TestAbsent(t *testing.T) {}\n",
	})
	suites, err := suitesOf(t.Context(), dir, []string{"."})
	require.NoError(t, err)
	require.Len(t, suites, 1)
	assert.Equal(t, []string{"TestModel", "ExampleAbs", "TestAbs"}, suites[0].testsFor("abs.go"))
	assert.Empty(t, suites[0].testsFor("sum.go"))
	out, err := plantIn(t, dir, []bug{noticed})
	require.NoError(t, err, out)
	assert.Contains(t, out, "(by TestAbs, ", "and not by the first of all")
}

func TestNoTestsToAsk(t *testing.T) {
	dir := small(t)
	add(t, dir, map[string]string{"bare/bare.go": "package bare\n"})
	b := noticed
	b.tests = []string{"./bare"}
	_, err := plantIn(t, dir, []bug{b})
	require.ErrorContains(t, err, "there are no tests in ./bare")
	b.tests = []string{"./gone"}
	_, err = plantIn(t, dir, []bug{b})
	require.ErrorContains(t, err, "go list ./gone")
}

func TestStatusOnATerminalOnly(t *testing.T) {
	var out bytes.Buffer
	newStatus(&out).show("nothing")
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	newStatus(file).show("nothing")
	newStatus(file).clear()
	info, err := file.Stat()
	require.NoError(t, err)
	assert.Zero(t, out.Len()+int(info.Size()))

	s := status{terminal: &out}
	s.show(strings.Repeat("é", 100))
	s.clear()
	assert.Equal(t, "\r\x1b[K"+strings.Repeat("é", 79)+"\r\x1b[K", out.String())
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
