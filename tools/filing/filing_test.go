package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// graphOf loads a package of testdata.
func graphOf(t *testing.T, name string) *graph {
	list, err := load(".", []string{"./testdata/" + name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return usesIn(list[0])
}

// lines are edges as they are printed.
func lines(edges []*edge) []string {
	var all []string
	for _, e := range edges {
		all = append(all, e.String())
	}
	return all
}

func TestOrder(t *testing.T) {
	g := graphOf(t, "nocycle")
	assert.Empty(t, g.cycles())
	assert.Equal(t, [][]string{{"top.go"}, {"middle.go"}, {"alone.go", "bottom.go"}}, g.layers())
	assert.Equal(t, []string{
		"middle.go:3 uses limit of bottom.go",
		"top.go:5 uses limit of bottom.go",
		"top.go:5 uses double of middle.go",
	}, lines(g.edges), "and nothing of the tests")
}

func TestDirectCycle(t *testing.T) {
	cycles := graphOf(t, "direct").cycles()
	require.Len(t, cycles, 1)
	assert.Equal(t, []string{
		"a.go:9 uses next of b.go, step (line 10)",
		"b.go:5 uses Pool of a.go, Pool.size (line 5)",
	}, lines(cycles[0]))
}

func TestCycleOfThree(t *testing.T) {
	cycles := graphOf(t, "three").cycles()
	require.Len(t, cycles, 1)
	assert.Equal(t, []string{"a.go:5 uses b of b.go", "b.go:3 uses c of c.go", "c.go:7 uses A of a.go"}, lines(cycles[0]))
}

// Uses that do not name the type whose method or field they use.
func TestUses(t *testing.T) {
	for name, want := range map[string][]string{
		"generic": {
			"field.go:4 uses fresh of make.go",
			"field.go:4 uses Pool.last of pool.go",
			"make.go:3 uses Pool of pool.go",
			"methods.go:3 uses Pool of pool.go, Pool.all (line 3)",
			"user.go:4 uses fresh of make.go",
			"user.go:4 uses Pool.get of methods.go",
		},
		"promoted": {
			"call.go:4 uses base.grow of method.go",
			"call.go:4 uses middle.base of middle.go",
			"call.go:4 uses outer.middle of outer.go, fresh (line 4)",
			"method.go:3 uses base of base.go",
			"middle.go:3 uses base of base.go",
			"outer.go:3 uses middle of middle.go",
			"read.go:4 uses base.size of base.go",
			"read.go:4 uses middle.base of middle.go",
			"read.go:4 uses outer.middle of outer.go, fresh (line 4)",
		},
		"methodvalue": {
			"abstract.go:4 uses find of looker.go, looker.look (line 4)",
			"expression.go:4 uses pool.look of method.go",
			"expression.go:4 uses pool of type.go",
			"method.go:3 uses pool of type.go",
			"value.go:4 uses pool.look of method.go",
			"value.go:4 uses shared of type.go",
		},
		"underlying": {
			"data.go:6 uses View of view.go",
			"user.go:4 uses data.inner of data.go, data.size (line 4)",
			"user.go:4 uses View of view.go",
			"view.go:4 uses data of data.go",
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, want, lines(graphOf(t, name).edges)) })
	}
}

// graphFrom makes a graph of edges that are written "ab".
func graphFrom(edges ...string) *graph {
	g := &graph{files: strings.Split("abcde", "")}
	for _, e := range edges {
		g.edges = append(g.edges, &edge{from: e[:1], to: e[1:], uses: []use{{"x", 1}}})
	}
	return g
}

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		edges, want []string
	}{
		{nil, nil},
		{[]string{"ab", "bc", "ac", "dc"}, nil},
		{[]string{"ab", "ba", "bc", "cd", "db"}, []string{"abba", "bccddb"}},
		{[]string{"ab", "bc", "cd", "da", "cb"}, []string{"bccb"}}, // bc is an edge of both cycles
		{[]string{"ab", "bc", "cd", "de", "ec"}, []string{"cddeec"}},
	} {
		var got []string
		for _, cycle := range graphFrom(c.edges...).cycles() {
			text := ""
			for _, e := range cycle {
				text += e.from + e.to
			}
			got = append(got, text)
		}
		assert.Equal(t, c.want, got, c.edges)
	}
}

func TestManyUsesInOneLine(t *testing.T) {
	e := &edge{from: "a.go", to: "b.go", uses: []use{{"A", 1}, {"B", 2}, {"C", 3}, {"D", 4}, {"E", 5}}}
	assert.Equal(t, "a.go:1 uses A of b.go, B (line 2), C (line 3), D (line 4), E (line 5)", e.String())
	e.uses = append(e.uses, use{"F", 6}, use{"G", 7})
	assert.Equal(t, "a.go:1 uses A of b.go, B (line 2), C (line 3), D (line 4), E (line 5) and 2 more", e.String())
}

func runWith(args ...string) (string, error) {
	var out bytes.Buffer
	err := run(args, &out)
	return out.String(), err
}

func TestRun(t *testing.T) {
	const path = "github.com/evenkeel-go/evenkeel/tools/filing/testdata/"
	out, err := runWith("./testdata/nocycle")
	require.NoError(t, err)
	assert.Equal(t, path+"nocycle: 4 files\n\ttop.go\n\tmiddle.go\n\talone.go  bottom.go\n", out)

	out, err = runWith("-v", "./testdata/nocycle")
	require.NoError(t, err)
	assert.Contains(t, out, "\n\tmiddle.go:3 uses limit of bottom.go\n\ttop.go:5 uses limit of bottom.go\n")

	out, err = runWith("./testdata/nocycle", "./testdata/direct")
	require.ErrorContains(t, err, "in 1 of 2 packages files use each other")
	assert.Contains(t, out, path+"direct: 2 files that have no order\n\tcycle of 2 files:\n\t\ta.go:9 uses next of b.go, step (line 10)\n\t\tb.go:5 uses Pool of a.go")

	_, err = runWith("./testdata/...") // the go command leaves these out
	require.ErrorContains(t, err, "no package matches ./testdata/...")
	_, err = runWith("./testdata/none")
	require.ErrorContains(t, err, "none")
	_, err = runWith("-x")
	require.ErrorContains(t, err, "not defined")
}

// Without arguments it looks at what others may import.
func TestWithoutArguments(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "internal"))
	out, _ := runWith() // whether there is an order is a question to CI
	for _, path := range []string{"", "/lbhttp", "/health", "/lbtest", "/p2c", "/sqf", "/roundrobin", "/random"} {
		assert.Contains(t, out, "github.com/evenkeel-go/evenkeel"+path+": ")
	}
	assert.NotContains(t, out, "/internal/")
	assert.NotContains(t, out, "/examples/")
}
