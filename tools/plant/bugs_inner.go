package main

// innerBugs are planted in the packages under internal, and in the check of the filing.
var innerBugs = []bug{
	{
		name: "the second index never reaches the last backend", file: "internal/draw/draw.go",
		old: "bits.Mul64(rest, uint64(n-1))", new: "bits.Mul64(rest, uint64(max(n-2, 1)))", tests: []string{"./internal/draw"},
	},
	{
		name: "an index never reaches the last backend", file: "internal/draw/draw.go",
		old: "hi, _ := bits.Mul64(u, uint64(n))", new: "hi, _ := bits.Mul64(u, uint64(max(n-1, 1)))", tests: []string{"./internal/draw"},
	},
	{
		name: "both indices come from the same bits", file: "internal/draw/draw.go",
		old: "bits.Mul64(rest, uint64(n-1))", new: "bits.Mul64(u+0*rest, uint64(n-1))", tests: []string{"./internal/draw"},
	},
	{
		name: "a seed is ignored", file: "internal/draw/draw.go",
		old: "if seed == 0 {", new: "if true {", tests: []string{"./internal/draw"},
	},
	{
		name: "a column of the alias table keeps what is another's", file: "internal/draw/alias.go",
		old: "return int(t.other[hi])", new: "return int(hi)", tests: []string{"./internal/draw"},
	},
	{
		name: "a window forgets nothing", file: "internal/window/window.go",
		old: "b.at >= oldest {", new: "b.at >= 0*oldest {", tests: []string{"./internal/window"},
	},
	{
		name: "what a counter has grown by counts at the end of the time it took", file: "internal/window/window.go",
		old: "if from == now {", new: "if from <= now {", tests: []string{"./internal/window"},
	},
	{
		name: "a bucket from before a moment counts as one after it", file: "internal/window/window.go",
		old: "oldest = max(oldest, w.number(since)+1)", new: "oldest = max(oldest, w.number(since))", tests: []string{"./internal/window"},
	},
	{
		name: "Undo takes back the oldest event", file: "internal/window/window.go",
		old: "b.at > newest.at", new: "b.at < newest.at", tests: []string{"./internal/window"},
	},
	{
		name: "Fisher's tail is its first term only", file: "internal/outlier/outlier.go",
		old: "for i := k; i < math.Min(n, fails) && term", new: "for i := k; i < 0*fails && term", tests: []string{"./internal/outlier"},
	},
	{
		name: "the binomial tail is its first term only", file: "internal/outlier/outlier.go",
		old: "for i := k; i < n && term", new: "for i := k; i < 0*n && term", tests: []string{"./internal/outlier"},
	},
	{
		name: "port 0 is a port", file: "internal/addr/addr.go",
		old: "err != nil || n == 0 {", new: "err != nil || n > 65535 {", tests: []string{"./internal/addr"},
	},
	{
		name: "an IPv6 address needs no brackets", file: "internal/addr/addr.go",
		old: "if !is6(host) {\n\t\treturn nil", new: "if true {\n\t\treturn nil", tests: []string{"./internal/addr"},
	},
	{
		name: "files that use each other in a cycle of three are not found", file: "tools/filing/graph.go",
		old: "if e.to == start {", new: "if e.to == start && len(way) < 3 {", tests: []string{"./tools/filing"},
	},
}
