package main

// carpBugs are keys that go elsewhere than they should, and uneven or restless subsets.
var carpBugs = []bug{
	{
		name: "a hash that is not XXH64 at 4 to 7 bytes", file: "carp/hash.go",
		old: "h^half*prime1, 23)*prime2", new: "h^half*prime2, 23)*prime2", tests: inCarp,
	},
	{
		name: "backends are ordered by place and not by name", file: "carp/ranking.go",
		old: "mix(v.Hash(i))", new: "mix(uint64(i))", tests: inCarp,
	},
	{
		name: "weights are taken linearly: no logarithm", file: "carp/ranking.go",
		old: "minusLog1(unit(h)) * r.per[i]", new: "unit(h) * r.per[i]", tests: inCarp,
	},
	{
		name: "weights are not seen by the hash", file: "carp/ranking.go",
		old: "if !equal {", new: "if false {", tests: inCarp,
	},
	{
		name: "heavy backends are passed over by the hash alone", file: "carp/ranking.go",
		old: "(1<<52)/slices.Min(per)", new: "(1<<52)/slices.Max(per)", tests: inCarp,
	},
	{
		name: "slow start moves keys by weight, and back", file: "carp/ranking.go",
		old: "v.Share(i) / v.Weight(i)", new: "1 / v.Weight(i)", tests: inCarp,
	},
	{
		name: "slow start admits all keys at once", file: "carp/ranking.go",
		old: "if open[i] < 1<<32 {", new: "if false {", tests: inCarp,
	},
	{
		name: "the bound counts without the call itself", file: "carp/policy.go",
		old: "factor * (load + 1) / weight", new: "factor * load / weight", tests: inCarp,
	},
	{
		name: "the bound is twice what it should be", file: "carp/policy.go",
		old: "factor * (load + 1) / weight", new: "2 * factor * (load + 1) / weight", tests: inCarp,
	},
	{
		name: "what flows over goes to the least loaded", file: "carp/policy.go",
		old: "if at, seen, ok := r.firstBelow(v, key, bound); ok {", new: "if at, seen, ok := r.firstBelow(v, key, bound); ok && false {",
		tests: inCarp,
	},
	{
		name: "what flows over goes by another order", file: "carp/policy.go",
		old: "r.firstBelow(v, key, bound)", new: "r.firstBelow(v, key+1, bound)", tests: inCarp,
	},
	{
		name: "a retry goes by another order", file: "carp/policy.go",
		old: "\t\tr = newRanking(v)", new: "\t\tr = newRanking(v)\n\t\ttext += \"again\"", tests: inCarp,
	},
	{
		name: "the context's key goes before that of the call", file: "carp/carp.go",
		old: "\tif call.Key == \"\" {\n\t\tcall.Key = keyOf(ctx)\n\t}", new: "\tif key := keyOf(ctx); key != \"\" {\n\t\tcall.Key = key\n\t}",
		tests: inCarp,
	},
	{
		name: "Lease does not see the context's key", file: "carp/carp.go",
		old: "if key := keyOf(ctx); key != \"\" {", new: "if key := keyOf(nil); key != \"\" {", tests: inCarp,
	},
	{
		name: "calls without a key are not counted", file: "carp/carp.go",
		old: "b.without.Add(1)", new: "b.without.Add(0)", tests: inCarp,
	},
	{
		name: "the fallback policy is not used", file: "carp/carp.go",
		old: "if cfg.Fallback != nil {", new: "if false {", tests: inCarp,
	},
	{
		name: "a part of a membership does not have its shares", file: "snapshot.go",
		old: "part.shares = append(part.shares, g.shares[i])", new: "part.shares = append(part.shares, 1)", tests: core,
	},
	{
		name: "who has left the rotation counts in the load of all", file: "scan.go",
		old: "if !isBarred(all) {", new: "if true {", tests: core,
	},
	{
		name: "who has left the rotation counts in the load of all by weight", file: "scan.go",
		old: "if isBarred(w) {", new: "if false {", tests: core,
	},
	{
		name: "all like clients choose the same subset", file: "subset/subset.go",
		old: "pick(backends, k, draw.Hash(id), 0)", new: "pick(backends, k, 0, 0)", tests: inSubset,
	},
	{
		name: "numbered clients begin side by side", file: "subset/subset.go",
		old: "bits.Reverse64(uint64(number))", new: "uint64(number) << 40", tests: inSubset,
	},
	{
		name: "a subset depends on the order of the list", file: "subset/subset.go",
		old: "draw.Mix(salt ^ draw.Hash(string(b)))", new: "draw.Mix(salt ^ uint64(i+0*len(b)))", tests: inSubset,
	},
	{
		name: "a hit takes all of its work", file: "bench/sim/run.go",
		old: "q.work = float64(q.work * r.keys.Hit)", new: "q.work = float64(q.work * 1)", tests: []string{"./bench/sim"},
	},
}

var (
	inCarp   = []string{"./carp"}
	inSubset = []string{"./subset"}
)
