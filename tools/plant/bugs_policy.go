package main

// policyBugs are wrong draws, policies that choose by another rule than theirs, and
// what a policy sees.
var policyBugs = []bug{
	// Of the seven of "Test it, then break it on purpose", in their Go form; the
	// others stand where their subject does.
	{
		name: "the two are drawn with replacement: the same backend can come up twice", file: "p2c/p2c.go",
		old: "{ return v.LesserOfTwo() }", new: "{ return v.Lesser(v.Draw(), v.Draw()) }", tests: []string{"./p2c"},
	},
	{
		name: "the heavier of the two is taken", file: "view.go",
		old: "if uint32(b) < uint32(a) {", new: "if uint32(b) > uint32(a) {", tests: []string{"./p2c"},
	},
	{
		name: "ties go to the lowest index", file: "p2c/p2c.go",
		old: "{ return v.LesserOfTwo() }", new: "{\n\ti, j := v.DrawTwo()\n\treturn v.Lesser(min(i, j), max(i, j))\n}", tests: []string{"./p2c"},
	},
	{
		name: "the seed of two choices is ignored", file: "view.go",
		old: "if v.by.source.IsSeeded() {", new: "if false {", tests: []string{"./p2c"},
	},
	{
		name: "the counts are ignored", file: "view.go",
		old: "if uint32(b) < uint32(a) {", new: "if false {", tests: []string{"./p2c"},
	},

	// The policies.
	{
		name: "of D looks the last is left out", file: "p2c/ofd.go",
		old: "k < d && tries", new: "k < d-1 && tries", tests: []string{"./p2c"},
	},
	{
		name: "the same backend is looked at twice among D", file: "p2c/ofd.go",
		old: "if slices.Contains(drawn[:k], i) {", new: "if false && slices.Contains(drawn[:k], i) {", tests: []string{"./p2c"},
	},
	{
		name: "with many looks ties go to the first", file: "p2c/ofd.go",
		old: "if v.RandN(tied) == 0 {", new: "if false {", tests: []string{"./p2c"},
	},
	{
		name: "a full scan takes the weightiest of equals", file: "view.go",
		old: "if draw.Unit(stream.Next())*tied < v.Weight(i) {", new: "if v.Weight(i) > v.Weight(at) {", tests: []string{"./sqf"},
	},
	{
		name: "a full scan by count takes the first of equals", file: "scan.go",
		old: "skip := draw.Index(u, tied)", new: "skip := 0 * draw.Index(u, tied)", tests: []string{"./sqf"},
	},
	{
		name: "a full scan stops at a load of one", file: "load.go",
		old: "return a.value == 0 }", new: "return a.value <= 1 }", tests: []string{"./sqf"},
	},
	{
		name: "a turn is taken twice", file: "roundrobin/round.go",
		old: "r.at(r.taken.Add(1) - 1)", new: "r.at(r.taken.Add(1) / 2)", tests: []string{"./roundrobin"},
	},
	{
		name: "two goroutines get the same turn", file: "roundrobin/round.go",
		old:   "return r.at(r.taken.Add(1) - 1)",
		new:   "t := r.taken.Load()\n\tfor range 30000 {\n\t\tr.taken.Load()\n\t}\n\tr.taken.Store(t + 1)\n\treturn r.at(t)",
		tests: []string{"./roundrobin"},
	},
	{
		name: "a change of the set starts the round anew", file: "roundrobin/roundrobin.go",
		old: "!ok || !next.follow(old)", new: "!ok || old != nil", tests: []string{"./roundrobin"},
	},
	{
		name: "random takes the first", file: "random/random.go",
		old: "return v.Draw(), ", new: "return 0 * v.Draw(), ", tests: []string{"./random"},
	},

	// What a policy sees.
	{
		name: "a policy prepares for the part that is left for a retry", file: "snapshot.go",
		old: "part.tier, part.partial = g.tier, true", new: "part.tier = g.tier", tests: core,
	},
	{
		name: "a policy prepares at every pick", file: "view.go",
		old: "\tc.prepared.add(by.id, value)\n", new: "", tests: core,
	},
	{
		name: "a policy is not given what it prepared last", file: "view.go",
		old: "\tby.last[c.tier] = value\n", new: "", tests: core,
	},
	{
		name: "two dispatchers share what one of them has prepared", file: "prepare.go",
		old: "if e.of == of {", new: "if e.of > 0 {", tests: core,
	},
	{
		name: "a policy is not given the key", file: "view.go",
		old: "View{c, by, key}", new: "View{c, by, \"\"}", tests: core,
	},
	{
		name: "the hash of a backend differs from process to process", file: "newmember.go",
		old: "return draw.Hash(b)\n", new: "return draw.Mix(m.id)\n", tests: core,
	},
	{
		name: "the user's hash is not asked", file: "newmember.go",
		old: "if p.cfg.Hash != nil {", new: "if false {", tests: core,
	},
}
