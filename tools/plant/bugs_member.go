package main

// memberBugs let the wrong backends be members, or forget what a member is.
var memberBugs = []bug{
	{
		name: "backends ejected by hand are picked", file: "change.go",
		old: "case classSound:\n\t\treturn true", new: "case classSound, classByHand:\n\t\treturn true", tests: conformance,
	},
	{
		name: "a duplicate is accepted", file: "members.go",
		old: "if _, twice := seen[b.Backend]; twice {", new: "if false {", tests: core,
	},
	{
		name: "a negative weight is accepted", file: "members.go",
		old: "if !(w >= 0) || math.IsInf(w, 0) {", new: "if w != w || math.IsInf(w, 0) {", tests: core,
	},
	{
		name: "a negative tier is accepted", file: "members.go",
		old: "if b.Tier < 0 {", new: "if false {", tests: core,
	},
	{
		name: "a drained backend is picked", file: "change.go",
		old: "case classSound:\n\t\treturn true", new: "case classSound, classDrained:\n\t\treturn true", tests: conformance,
	},
	{
		name: "a plain Replace resets the tier", file: "members.go",
		old: "number := m.tier.number", new: "number := 0", tests: core,
	},
	{
		name: "a backend that comes back has lost its open leases", file: "member.go",
		old: "return m.inFlight() > 0 || m.ejected(now) || (m.byHand", new: "return m.ejected(now) || (m.byHand", tests: core,
	},
	{
		name: "a blip of the resolver ends an ejection by outcome", file: "member.go",
		old: "return m.inFlight() > 0 || m.ejected(now) || (m.byHand", new: "return m.inFlight() > 0 || (m.byHand", tests: core,
	},
	{
		name: "a blip of the resolver ends an ejection by hand", file: "member.go",
		old: "(m.byHand || m.down) && now-", new: "m.down && now-", tests: core,
	},
	{
		name: "a backend that was down when it was removed is down for ever", file: "member.go",
		old: "now-m.removedAt < memory", new: "now >= 0", tests: core,
	},
	{
		name: "any number of removed backends is remembered", file: "members.go",
		old: "over := len(p.gone) - max(remembered, 4*members)", new: "over := 0 * members", tests: core,
	},
	{
		name: "a removed backend with open leases is forgotten", file: "members.go",
		old: "if m := p.gone[0]; m.inFlight() == 0 {", new: "if m := p.gone[0]; true {", tests: core,
	},
	{
		name: "Restore leaves the ejection by hand", file: "members.go",
		old: "m.byHand, m.down, m.unchecked, m.downErr,", new: "_, m.down, m.unchecked, m.downErr,", tests: conformance,
	},
	{
		name: "a newcomer to health checks gets calls before its first pass", file: "members.go",
		old: "m.unchecked = p.checkers > 0", new: "m.unchecked = p.checkers < 0", tests: core,
	},
	{
		name: "newcomers wait for health checks that have stopped", file: "members.go",
		old: "m.unchecked = false\n\t\t\t\t\tp.changed(m, now)", new: "p.changed(m, now)", tests: core,
	},
	{
		name: "a health check undoes an ejection by hand", file: "members.go",
		old: "m.down, m.downErr = down != nil, down\n", new: "m.down, m.downErr, m.byHand = down != nil, down, m.byHand && down != nil\n", tests: core,
	},
}
