package main

// changeBugs keep a change from the picks, or its news from the observers.
var changeBugs = []bug{
	// Publishing.
	{
		name: "a change that waits to be published waits for ever", file: "settle.go",
		old: "s.renew.CompareAndSwap(0, int64(len(p.members)))", new: "s.renew.Load()", tests: core,
	},
	{
		name: "who is ejected is picked until the change is published", file: "change.go",
		old: "\tm.bar(!used)\n", new: "\tm.bar(m.removed)\n", tests: core,
	},
	{
		name: "the last alarm comes first", file: "alarms.go",
		old: "h[i].at < h[j].at", new: "h[i].at > h[j].at", tests: core,
	},
	{
		name: "alarms are lost", file: "change.go",
		old: "p.alarms.push(uint64(at), m)", new: "_ = m", tests: core,
	},
	{
		name: "an alarm is not set again", file: "settle.go",
		old: "m.alarm = 0\n\tp.setAlarm(m, now)", new: "m.alarm = 0", tests: core,
	},
	{
		name: "a removed backend that nothing binds is remembered", file: "change.go",
		old: "\t\tdelete(p.index, m.backend)\n", new: "", tests: core,
	},

	// Tiers.
	{
		name: "a tier that has lost nearly all keeps all calls", file: "snapshot.go",
		old: "g.upTo = min(left, overProvision*g.part)", new: "g.upTo = min(left, 100*g.part)", tests: core,
	},
	{
		name: "a tier that has lost few loses calls", file: "snapshot.go",
		old: "const overProvision = 1.4", new: "const overProvision = 1.0", tests: core,
	},
	{
		name: "tiers that cannot carry the calls together leave some to the first", file: "snapshot.go",
		old: "upTo += g.upTo / (1 - left)", new: "upTo += g.upTo", tests: core,
	},
	{
		name: "a tier may not lose its last member while another can carry its calls", file: "change.go",
		old: "if sound > t.count[classSound] {", new: "if false {", tests: core,
	},
	{
		name: "a call that finds a tier full does not go to the next", file: "place.go",
		old: "case room == 0:\n\t\t\tcontinue", new: "case room == 0:\n\t\t\treturn nil, counts", tests: core,
	},
	{
		name: "a call that has tried a whole tier does not go to the next", file: "place.go",
		old: "len(part.in) > 0 {\n\t\t\treturn part\n", new: "len(part.in) > 0 && g == &s.group {\n\t\t\treturn part\n", tests: core,
	},

	// Observers.
	{
		name: "the user's function is given every event twice", file: "event.go",
		old: "\t\t\tp.cfg.OnEvent(e)\n", new: "\t\t\tp.cfg.OnEvent(e)\n\t\t\tp.cfg.OnEvent(e)\n", tests: core,
	},
	{
		name: "a change is news at every later change too", file: "event.go",
		old: "\tm.lastState = to\n", new: "", tests: core,
	},
	{
		name: "an observer is called after its stop", file: "event.go",
		old: "return other == o", new: "return other != other", tests: core,
	},
	{
		name: "only the first observer is called", file: "event.go",
		old: "\t\t\to.f(e)\n", new: "\t\t\to.f(e)\n\t\t\tbreak\n", tests: core,
	},
	{
		name: "panic is no news", file: "snapshot.go",
		old: "if was.panics != mode.panics {", new: "if false {", tests: core,
	},
	{
		name: "events wait for a call that does not end well", file: "member.go",
		old: " && m.pool.atEnd.Load() == 0", new: " && m.pool.atEnd.Load()&atEndPay == 0", tests: core,
	},
	{
		name: "who observes leases is called after its stop", file: "hooks.go",
		old: "return other == h", new: "return other != other", tests: core,
	},
	{
		name: "who observes leases does not hear of their ends", file: "end.go",
		old: "if begun != nil {", new: "if false {", tests: core,
	},
	{
		name: "who observes leases does not hear of those that end well", file: "lease.go",
		old: "err == nil && was == 0 && simple", new: "err == nil && simple", tests: core,
	},
	{
		name: "who observes leases is told of some only", file: "settle.go",
		old: " && p.hooks.Load() == nil)", new: ")", tests: core,
	},
	{
		name: "a hook that panics leaves a call in flight", file: "balancer.go",
		old: "if l.m == nil { // a hook has panicked", new: "if false { // a hook has panicked", tests: core,
	},
}
