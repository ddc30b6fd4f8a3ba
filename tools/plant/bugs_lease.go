package main

// leaseBugs are wrong counts and loads, and calls that begin or end wrongly.
var leaseBugs = []bug{
	{
		name: "a call that panics is never counted down", file: "do.go",
		old: "defer lease.Release()\n\terr = fn", new: "err = fn", tests: conformance,
	},
	{
		name: "a lease can be released twice", file: "lease.go",
		old: "was, ok := l.end()\n\tif !ok {\n\t\treturn\n\t}\n\tif was == 0", new: "was, _ := l.end()\n\tif was == 0",
		tests: conformance,
	},
	{
		name: "Done after Release counts down again", file: "lease.go",
		old: "was, ok := l.end()\n\tif !ok {\n\t\treturn\n\t}\n\tif err == nil", new: "was, _ := l.end()\n\tif err == nil",
		tests: conformance,
	},
	{
		name: "DoneAs after Done counts down again", file: "lease.go",
		old: "if was, ok := l.end(); ok {", new: "if was, ok := l.end(); ok || !ok {", tests: core,
	},
	{
		name: "two goroutines end the same lease", file: "lease.go",
		old:   "was = l.state.Swap(leaseOver)\n\tif was&leaseAnswered != 0 {\n\t\tl.m.answered.Add(-1)\n\t}\n\treturn was, was&leaseOver == 0",
		new:   "for range 300000 {\n\t\tl.state.Load()\n\t}\n\twas = l.state.Swap(leaseOver)\n\treturn was, true",
		tests: core,
	},
	{
		name: "a dead context is counted", file: "balancer.go",
		old: "if ctx.Err() != nil {\n\t\treturn Lease[T]{}, context.Cause(ctx)\n\t}\n\tif s :=", new: "if s :=",
		tests: conformance,
	},
	{
		name: "a dead context is counted by LeaseFor", file: "balancer.go",
		old: "if ctx.Err() != nil {\n\t\treturn Lease[T]{}, context.Cause(ctx)\n\t}\n\treturn d.lease(ctx, call)", new: "return d.lease(ctx, call)",
		tests: conformance,
	},
	{
		name: "the cause of a context is lost", file: "balancer.go",
		old: "context.Cause(ctx)\n\t}\n\tif s :=", new: "ctx.Err()\n\t}\n\tif s :=",
		tests: conformance,
	},
	{
		name: "a rule of outcomes that panics keeps the count", file: "end.go",
		old: "defer func() { p.end(m, start, begun, outcome, err) }()",
		new: "defer func() {\n\t\tif outcome != OutcomeNeutral {\n\t\t\tp.end(m, start, begun, outcome, err)\n\t\t}\n\t}()", tests: core,
	},
	{
		name: "an outcome that does not exist is a success", file: "outcome.go",
		old: "return OutcomeFailure\n\t}\n\treturn o", new: "return OutcomeSuccess\n\t}\n\treturn o", tests: core,
	},

	// The particulars of a call.
	{
		name: "a call gets a backend that it avoids", file: "place.go",
		old: "if len(avoid) == 0 {", new: "if true {", tests: conformance,
	},
	{
		name: "a call gets a backend that it avoids, if that has room", file: "member.go",
		old: " && !slices.Contains(avoid, m.backend)\n}\n\n// newEra", new: " && !(false && slices.Contains(avoid, m.backend))\n}\n\n// newEra", tests: core,
	},
	{
		name: "a call is the trial of a backend that it avoids", file: "place.go",
		old: "if m.triable() && slices.Contains(avoid, m.backend) {", new: "if false {", tests: core,
	},

	// Loads.
	{
		name: "penalties show as calls in flight", file: "counts.go",
		old: "return max(booked(w)-penalty, 0)", new: "return max(booked(w)-0*penalty, 0)", tests: core,
	},
	{
		name: "a weight does not divide the count", file: "load.go",
		old: "min(float64(booked(w))/c.weights[i], maxLoad)", new: "min(float64(booked(w)), maxLoad)", tests: []string{"./sqf"},
	},
	{
		name: "a weight does not divide a signal", file: "load.go",
		old: "value += float64(penalty)\n\tif c.weights != nil {", new: "value += float64(penalty)\n\tif false {", tests: core,
	},
	{
		name: "a broken load signal draws the traffic", file: "load.go",
		old: "return min(value, maxLoad)\n\t}\n\treturn maxLoad", new: "return min(value, maxLoad)\n\t}\n\treturn 0", tests: core,
	},
	{
		name: "values of a broken load signal are not counted", file: "load.go",
		old: "c.ledgers[i].badSignal.Add(1)", new: "_ = i", tests: core,
	},
	{
		name: "the load signal of a newcomer is made twice", file: "newmember.go",
		old: "m.signal = p.signal(b)", new: "_, m.signal = p.signal(b), p.signal(b)", tests: core,
	},
	{
		name: "the load signal of a member is made twice", file: "members.go",
		old: "m.signal = make(m.backend)", new: "_, m.signal = make(m.backend), make(m.backend)", tests: core,
	},
	{
		name: "a report that is out of range is taken", file: "report.go",
		old: "if !(r.InFlight >= 0 && r.InFlight <= maxReported) ||", new: "if false ||", tests: core,
	},

	// Backends that have left the rotation while a pick looked.
	{
		name: "a barred backend is leased by a policy that looked", file: "load.go",
		old: "seen.word == 0 || isBarred(seen.word) ||", new: "seen.word == 0 ||", tests: core,
	},
	{
		name: "a barred backend is leased by a policy that did not look", file: "load.go",
		old: "if isBarred(next) {", new: "if false {", tests: core,
	},
	{
		name: "a barred backend is leased where there is a limit", file: "counts.go",
		old: "if isBarred(w) && !trial || limit", new: "if limit", tests: core,
	},
	{
		name: "a barred backend is picked", file: "balancer.go",
		old: "!isBarred(m.word.Load())", new: "m != nil", tests: core,
	},

	// Start numbers.
	{
		name: "half turns of the start number are not counted", file: "counts.go",
		old: "if starts(word)<<1 == 0 {", new: "if false {", tests: core,
	},
	{
		name: "half turns are not counted by policies that do not look", file: "load.go",
		old: "next := s.word.Add(oneStart + 1)\n\ts.turn(next)", new: "next := s.word.Add(oneStart + 1)", tests: core,
	},
	{
		name: "half turns are not counted by policies that look", file: "load.go",
		old: "return 0, false\n\t}\n\ts.turn(next)", new: "return 0, false\n\t}", tests: core,
	},
	{
		name: "half turns that lag behind the start number are not made up for", file: "counts.go",
		old: "halves += halves&1 ^ uint64(start>>31)", new: "halves += 0", tests: core,
	},
	{
		name: "a call that was begun on a barred backend counts as a success", file: "load.go",
		old: "\t\ts.other.Add(1)\n", new: "", tests: core,
	},

	// The order of successes and failures.
	{
		name: "a success is not put in order while other calls are open", file: "lease.go",
		old: "if left := m.uncount(); booked(left) != 0 || m.also.Load() != 0 {", new: "if m.uncount(); m.also.Load() != 0 {", tests: core,
	},
	{
		name: "a success is not put in order after a failure", file: "end.go",
		old: "see note\n\t\tm.also.Or(alsoOrder)", new: "see note\n\t\tm.also.Or(0)", tests: core,
	},
	{
		name: "a success is not put in order after a deadline that passed", file: "end.go",
		old: "case OutcomeDeadline:\n\t\tm.also.Or(alsoOrder)", new: "case OutcomeDeadline:\n\t\tm.also.Or(0)", tests: core,
	},
	{
		name: "an older success replaces a newer one in the order", file: "counts.go",
		old: "if n <= newest || s.newest.CompareAndSwap(newest, n) {", new: "if s.newest.CompareAndSwap(newest, n) {", tests: core,
	},

	// Answered.
	{
		name: "a second Answered counts once more", file: "lease.go",
		old: "if was&(leaseOver|leaseAnswered) != 0 {", new: "if was&leaseOver != 0 {", tests: core,
	},
	{
		name: "Answered after the end counts", file: "lease.go",
		old: "if was&(leaseOver|leaseAnswered) != 0 {", new: "if was&leaseAnswered != 0 {", tests: core,
	},
	{
		name: "an answer counts beside the end of its call", file: "lease.go",
		old: "l.m.answered.Add(-1)", new: "_ = l.m", tests: core,
	},
	{
		name: "an answer does not pass a trial", file: "end.go",
		old: "p.note(m, m.full(start), OutcomeSuccess, nil)", new: "_ = m", tests: core,
	},
}
