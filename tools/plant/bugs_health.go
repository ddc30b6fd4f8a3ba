package main

// healthBugs are planted in package health.
var healthBugs = []bug{
	{
		name: "one passed probe brings a backend back", file: "health/target.go",
		old: "v.passed >= cfg.Up", new: "v.passed >= 1", tests: inHealth,
	},
	{
		name: "one failed probe too many is needed", file: "health/target.go",
		old: "v.lost >= cfg.Down", new: "v.lost > cfg.Down", tests: inHealth,
	},
	{
		name: "a passed probe does not end a run of failed ones", file: "health/target.go",
		old: "v.passed, v.lost = v.passed+1, 0", new: "v.passed++", tests: inHealth,
	},
	{
		name: "a probe has no timeout", file: "health/loop.go",
		old: "context.WithTimeout(l.ctx, l.cfg.Timeout)", new: "context.WithCancel(l.ctx)", tests: inHealth,
	},
	{
		name: "any number of probes run at once", file: "health/loop.go",
		old: "for len(l.line) > 0 && l.places < l.cfg.MaxProbes {", new: "for len(l.line) > 0 {", tests: inHealth,
	},
	{
		name: "Close leaves backends down", file: "health/loop.go",
		old: "for _, t := range l.targets {\n\t\tl.withdraw(t)\n\t}", new: "", tests: inHealth,
	},
	{
		name: "a backend that has left is still probed", file: "health/loop.go",
		old: "l.unschedule(t)\n\t\t\tif t.phase == asked {", new: "if t.phase == asked {", tests: inHealth,
	},
	{
		name: "probes have no jitter", file: "health/loop.go",
		old: "return time.Duration(l.cfg.Jitter * ", new: "return time.Duration(0 * l.cfg.Jitter * ", tests: inHealth,
	},
}
