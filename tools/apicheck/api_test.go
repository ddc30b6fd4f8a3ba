package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apiOf type-checks the source of packages, given by path.
func apiOf(sources ...[2]string) *api {
	a := &api{fset: token.NewFileSet()}
	for _, s := range sources {
		file, err := parser.ParseFile(a.fset, s[0]+".go", s[1], 0)
		if err != nil {
			panic(err)
		}
		conf := types.Config{Importer: importer.Default()}
		p, err := conf.Check(s[0], a.fset, []*ast.File{file}, nil)
		if err != nil {
			panic(err)
		}
		a.packages = append(a.packages, p)
	}
	return a
}

const before = `package pool

type Pool[T comparable] struct {
	Size int
	hidden map[T]int
}

func (p *Pool[T]) Replace(all ...T) error { return nil }
func (p *Pool[T]) look() {}

type Policy interface{ Choose(n int) int }

type Count int

const Most Count = 7

type Old = Count

func New[T comparable](all ...T) *Pool[T] { return nil }

var Default Policy
`

func Example() {
	then := apiOf([2]string{"example.com/pool", before})
	now := apiOf([2]string{"example.com/pool", `package pool

type Policy interface{ Choose(n int) int }

func New(all ...string) int { return 0 }
`})
	breaking, _ := compare(then, now)
	fmt.Println(breaking[0])
	// Output: example.com/pool: Count: removed
}

func TestCompare(t *testing.T) {
	then := [2]string{"p", "package p; type S struct{ A int }; func F(int) {}; func hidden() {}"}
	for _, c := range []struct {
		what, now            string
		breaking, compatible []string
	}{
		{"the same", then[1], nil, nil},
		{"what nobody sees", "package p; type S struct{ A int }; func F(int) {}; func other() {}", nil, nil},
		{"more", then[1] + "; func G() {}; func (S) M() {}", nil, []string{"p: G: added", "p: S.M: added"}},
		{"a function gone", "package p; type S struct{ A int }", []string{"p: F: removed"}, nil},
		{"another type", "package p; type S struct{ A int }; func F(string) {}", []string{"p: F: changed from func(int) to func(string)"}, nil},
		{"a field gone", "package p; type S struct{}; func F(int) {}", []string{"p: S.A: removed", "p: S: old is comparable, new is not"}, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			breaking, compatible := compare(apiOf(then), apiOf([2]string{"p", c.now}))
			if c.what == "a field gone" {
				assert.Contains(t, breaking, c.breaking[0])
				return
			}
			assert.ElementsMatch(t, c.breaking, breaking)
			assert.ElementsMatch(t, c.compatible, compatible)
		})
	}
	breaking, compatible := compare(apiOf(then), apiOf([2]string{"q", "package q"}))
	assert.Equal(t, []string{"p: the package is gone"}, breaking)
	assert.Equal(t, []string{"q: the package is new"}, compatible)
}

// A generic alias is a type of its own to those who write its name.
func TestGenericAlias(t *testing.T) {
	const target = "package p; type D[T comparable] struct{ A T }; type E[T comparable] struct{ A T }; "
	const alias = "type B[T comparable] = D[T]"
	for _, c := range []struct{ what, then, now, breaks string }{
		{"the same", alias, alias, ""},
		{"another name of the parameter", alias, "type B[K comparable] = D[K]", ""},
		{"its target in its place", alias + "; func New[T comparable]() *B[T] { return nil }", alias + "; func New[T comparable]() *D[T] { return nil }", ""},
		{"a variable of its type", alias + "; var V B[int]", alias + "; var V B[int]", ""},
		{"gone", alias, "", "p: B: removed"},
		{"another target", alias, "type B[T comparable] = E[T]", "p: B: changed from D[T] to E[T]"},
		{"no longer generic", alias, "type B = D[string]", "p: B: changed from D[T] to D[string]"},
		{"a type instead", alias, "type B[T comparable] struct{}", "p: B: changed from D[T] to B[T comparable]"},
		{"fewer arguments that fit", alias, "type B[T ~string] = D[T]", "p: B: type parameters changed from [comparable] to [~string]"},
		{"one more argument", alias, "type B[T, U comparable] = D[T]", "p: B: type parameters changed from [comparable] to [comparable, comparable]"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "baseline")
			require.NoError(t, apiOf([2]string{"p", target + c.then}).write(dir))
			then, err := read(dir)
			require.NoError(t, err)
			breaking, compatible := compare(then, apiOf([2]string{"p", target + c.now}))
			assert.Empty(t, compatible)
			if c.breaks == "" {
				assert.Empty(t, breaking)
				return
			}
			assert.Contains(t, breaking, c.breaks)
		})
	}
	assert.Contains(t, string(apiOf([2]string{"p", target + alias}).text()), "\ttype B[T comparable] = D[T]\n")
}

// What is read back from a baseline is what was written, generic types included.
func TestBaseline(t *testing.T) {
	then := apiOf([2]string{"example.com/pool", before}, [2]string{"example.com/other", "package other; import \"net/http\"; func Do(*http.Request) {}"})
	dir := filepath.Join(t.TempDir(), "baseline")
	require.NoError(t, then.write(dir))
	data, err := os.ReadFile(filepath.Join(dir, "example.com+pool.export"))
	require.NoError(t, err)
	assert.NotContains(t, string(data), "pool.go", "the baseline holds no paths")
	again, err := read(dir)
	require.NoError(t, err)
	assert.Equal(t, string(then.text()), string(again.text()))
	for _, pair := range [][2]*api{{then, again}, {again, then}} {
		breaking, compatible := compare(pair[0], pair[1])
		assert.Empty(t, breaking)
		assert.Empty(t, compatible)
	}
	breaking, _ := compare(again, apiOf([2]string{"example.com/pool", before}, [2]string{"example.com/other", "package other; func Do(string) {}"}))
	assert.Equal(t, []string{"example.com/other: Do: changed from func(*net/http.Request) to func(string)"}, breaking)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.export"), []byte("nonsense"), 0o644))
	_, err = read(dir)
	require.ErrorContains(t, err, "a.export")

	require.NoError(t, apiOf([2]string{"one", "package one"}).write(dir))
	again, err = read(dir)
	require.NoError(t, err, "what stood there before is gone")
	assert.Len(t, again.packages, 1)
}

func TestText(t *testing.T) {
	assert.Equal(t, `package example.com/pool
	type Count int
	var Default Policy
	const Most Count = 7
	func New[T comparable](all ...T) *Pool[T]
	type Old = Count
	type Policy interface
		Choose(n int) int
	type Pool[T comparable] struct
		field Size int
		func (*Pool[T]).Replace(all ...T) error
`, string(apiOf([2]string{"example.com/pool", before}).text()))
}

// The whole way, over a small repository.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("go.work", "go 1.25.0\nuse .\n")
	write("go.mod", "module example.com/small\n\ngo 1.25.0\n")
	write("small.go", "package small\n\nfunc F() {}\n")
	write("cmd/main.go", "package main\n\nfunc main() {}\n")
	write("internal/inner/inner.go", "package inner\n\nfunc G() {}\n")
	t.Chdir(dir)
	var out bytes.Buffer
	check := func(write bool) error {
		out.Reset()
		return run(write, &out)
	}
	require.ErrorContains(t, check(false), "there is no baseline")
	require.NoError(t, check(true))
	assert.Contains(t, out.String(), "the API of 1 packages")
	require.NoError(t, check(false))
	assert.Equal(t, "the API of 1 packages breaks nobody\n", out.String())

	write("small.go", "package small\n\nfunc F() {}\n\nfunc G() {}\n")
	require.NoError(t, check(false))
	assert.Contains(t, out.String(), "compatible: example.com/small: G: added")
	assert.Contains(t, out.String(), "record it with: go run ./tools/apicheck -write")

	write("small.go", "package small\n\nfunc G() {}\n")
	require.ErrorIs(t, check(false), errBroken)
	assert.Contains(t, out.String(), "breaks: example.com/small: F: removed")
	require.NoError(t, check(true))
	require.NoError(t, check(false))
	require.NoError(t, check(true))
	assert.Equal(t, "the baseline is up to date\n", out.String())

	write("small.go", "package small\n\n// G moves, and gets a comment.\nfunc G() {}\n")
	require.NoError(t, check(false))
	assert.Equal(t, "the API of 1 packages breaks nobody\n", out.String())

	write("small.go", "package small\n\nfunc G() { nonsense }\n")
	require.ErrorContains(t, check(false), "undefined: nonsense")
	write("small.go", "package main\n\nfunc main() {}\n")
	require.ErrorContains(t, check(false), "holds no package")
}
