package main

// simBugs are planted in the simulator.
var simBugs = []bug{
	{
		name: "a simulated server works ahead while it is idle", file: "bench/sim/run.go",
		old:   "wk.request, wk.busy, wk.left, wk.since = i, true, work, r.now",
		new:   "wk.request, wk.busy, wk.left, wk.since = i, true, max(work-(r.now-wk.since)*s.speed, 0), r.now",
		tests: inSim,
	},
	{
		name: "a simulated server's speed does not matter", file: "bench/sim/run.go",
		old: "r.now+wk.left/s.speed", new: "r.now+wk.left", tests: inSim,
	},
	{
		name: "the simulated network delays twice on the way there", file: "bench/sim/run.go",
		old: "r.agenda.add(kindReach, r.now+r.half,", new: "r.agenda.add(kindReach, r.now+2*r.half,", tests: inSim,
	},
	{
		name: "the simulated board is fresher than it should be", file: "bench/sim/run.go",
		old: "float64(float64(e.b+1) * r.cfg.Refresh)", new: "float64(float64(e.b+1) * r.cfg.Refresh / 10)", tests: inSim,
	},
	{
		name: "the warm-up is counted", file: "bench/sim/run.go",
		old: "r.now > r.cfg.Warmup || r.cfg.Warmup == 0", new: "true", tests: inSim,
	},
}
