package main

// ejectBugs break the rules by which outcomes and health checks take backends out and
// let them back in, slow start, and the penalty for failed calls.
var ejectBugs = []bug{
	// Ejection by outcome.
	{
		name: "one failure too many is needed to eject", file: "judge.go",
		old: "if len(m.run) < p.cfg.Ejection.Consecutive {", new: "if len(m.run) <= p.cfg.Ejection.Consecutive {", tests: core,
	},
	{
		name: "a success does not end a run of failures", file: "end.go",
		old: "} else {\n\t\t\tm.succeeded(start)", new: "} else {\n\t\t\t_ = start", tests: core,
	},
	{
		name: "a failure from before a success spoils the run after it", file: "judge.go",
		old: "newest := m.newest.Load()", new: "newest := m.era.Load()", tests: core,
	},
	{
		name: "the cap is tested before the ejection it would make", file: "eject.go",
		old: "\twithout.count[classOut]++\n", new: "", tests: core,
	},
	{
		name: "the last usable backend is ejected", file: "eject.go",
		old: " || sound == 0 {", new: " {", tests: core,
	},
	{
		name: "outcomes from before an ejection count after it", file: "judge.go",
		old: "m.phase != phaseIn || start <= m.era.Load() ||", new: "m.phase != phaseIn ||", tests: core,
	},
	{
		name: "successes from before an ejection count after it", file: "end.go",
		old: "if n <= m.era.Load() {", new: "if false {", tests: core,
	},
	{
		name: "ends of calls from before an ejection are taken for simple ones", file: "member.go",
		old: "m.also.Or(alsoOld)", new: "_ = alsoOld", tests: core,
	},
	{
		name: "the successes since a return hide a relapse", file: "member.go",
		old: "m.window.Reset(now, m.goodSoFar())", new: "m.window.Reset(now, 0)", tests: core,
	},
	{
		name: "a trial whose call goes on is never passed", file: "member.go",
		old: "return later(m.trialAt, m.pool.cfg.Ejection.TrialTimeout)", new: "return 0", tests: core,
	},
	{
		name: "a trial that was cancelled locks the backend out", file: "eject.go",
		old: "m.phase = phaseOffered // it said nothing", new: "return // it said nothing", tests: core,
	},
	{
		name: "every lease is a trial", file: "place.go",
		old: "m.phase, m.trial, m.trialAt = phaseTried, m.full(start), now", new: "m.trial, m.trialAt = m.full(start), now", tests: core,
	},
	{
		name: "a relapse is not ejected for longer", file: "eject.go",
		old: "m.level = min(m.level+1, top)", new: "m.level = 1", tests: core,
	},
	{
		name: "a backend is compared with itself too", file: "others.go",
		old: "o != m && o.used", new: "o.used", tests: core,
	},
	{
		name: "a backend of a large pool is compared with itself too", file: "others.go",
		old: "p.overall.good - m.part[0], p.overall.bad - m.part[1]", new: "p.overall.good, p.overall.bad", tests: core,
	},
	{
		name: "a failure rate is judged without a look at the others", file: "judge.go",
		old: "if outlier.LnFisherTail(bad, good+bad, othersBad, othersGood+othersBad) > math.Log(alpha) {", new: "if false {", tests: core,
	},
	{
		name: "the caller's cancellation is a failure", file: "outcome.go",
		old: "return OutcomeNeutral\n", new: "return OutcomeFailure\n", tests: core,
	},

	// What all suffer is nobody's fault.
	{
		name: "a run of failures is judged without a look at the others", file: "judge.go",
		old: "return rate == 0 || outlier", new: "return rate >= 0 || outlier", tests: core,
	},
	{
		name: "a run of deadlines is no evidence", file: "judge.go",
		old: "m.run = append(m.run, miss{start, deadline})", new: "if !deadline {\n\t\t\tm.run = append(m.run, miss{start, deadline})\n\t\t}", tests: core,
	},
	{
		name: "a run of deadlines is evidence where the others end no calls", file: "judge.go",
		old: "k < 2 || good < k {", new: "k < 2 || good < 0 {", tests: core,
	},
	{
		name: "how the others have fared for long hides how they fare now", file: "judge.go",
		old: "rate = max(rate, bad/(good+bad))", new: "rate = max(rate, 0)", tests: core,
	},
	{
		name: "what a backend is answering does not count for it in a run", file: "judge.go",
		old: "(k+float64(m.answered.Load()))", new: "k", tests: core,
	},
	{
		name: "what a backend goes on with does not count for it in a run", file: "judge.go",
		old: "return float64(good - min(m.runGood, good))", new: "return 0 * float64(good)", tests: core,
	},
	{
		name: "a run of deadlines is judged by the rate of the others as it was seen", file: "judge.go",
		old: "rate+1/calls", new: "rate+0/calls", tests: core,
	},
	{
		name: "what a backend is answering does not count for it in its rate", file: "judge.go",
		old: "good += float64(max(m.answered.Load(), 0))", new: "good += 0", tests: core,
	},
	{
		name: "what the others suffered before a return counts for who is back", file: "others.go",
		old: "o.window.SumSince(now, m.eraAt)", new: "o.window.Sum(now)", tests: core,
	},
	{
		name: "a trial past its deadline says nothing", file: "eject.go",
		old: "case OutcomeDeadline:", new: "case OutcomeUnreported + 1:", tests: core,
	},
	{
		name: "a relapse counts while the others fail too", file: "eject.go",
		old: "level, shared := m.level, p.othersFail(m, sharedRate)", new: "level, shared := m.level, false", tests: core,
	},
	{
		name: "who comes back while the others fail too is a newcomer", file: "eject.go",
		old: "if !shared {", new: "if !shared || shared {", tests: core,
	},
	{
		name: "an ejection that has helped nobody lasts", file: "end.go",
		old: "changed = p.review(now) || changed", new: "_ = changed", tests: core,
	},

	// Health checks.
	{
		name: "health checks that took too many are still believed", file: "change.go",
		old: "m.all = m.panics || usable", new: "m.all = usable", tests: core,
	},
	{
		name: "one tier whose health checks took too many is not believed anywhere", file: "change.go",
		old: "\t\t\tm.panics = false\n", new: "\t\t\tm.panics = m.panics && len(p.tiers) > 1\n", tests: core,
	},
	{
		name: "who took calls although it was found down starts slowly", file: "members.go",
		old: "case !m.servedDown(now):", new: "default:", tests: core,
	},
	{
		name: "who is used in spite of what is held against it gets its full share", file: "snapshot.go",
		old: "m.allowed = waryShare", new: "m.allowed = 1", tests: core,
	},
	{
		name: "a call that ends well does not end the doubt", file: "judge.go",
		old: "m.trust()\n\t\treturn true", new: "return false", tests: core,
	},

	// What the backend, or this process, says.
	{
		name: "a backend that refuses calls as busy looks idle", file: "end.go",
		old: "OutcomeOverloaded), now\n\tp.hold(m, now)", new: "OutcomeOverloaded), now\n\tm.uncount()", tests: core,
	},
	{
		name: "Retry-After is not kept", file: "end.go",
		old: "m.pausedTo = max(m.pausedTo, later(now, pause))", new: "_ = pause", tests: core,
	},
	{
		name: "a pause has no bound", file: "end.go",
		old: "min(b.RetryAfter, maxPause)", new: "b.RetryAfter", tests: core,
	},
	{
		name: "a pause does not end", file: "settle.go",
		old: "m.pausedTo = 0\n", new: "m.pausedTo++\n", tests: core,
	},
	{
		name: "nobody is called where all have asked for a pause", file: "change.go",
		old: "m.busy = sound == 0 && paused > 0", new: "m.busy = sound < 0 && paused > 0", tests: core,
	},
	{
		name: "an error that is not the backend's fault is its failure", file: "outcome.go",
		old: "case errors.As(err, &mine):", new: "case errors.As(err, &mine) && false:", tests: core,
	},
	{
		name: "a shortage of this process is the backend's failure", file: "outcome.go",
		old: "case ended != nil, isShortage(err),", new: "case ended != nil,", tests: core,
	},

	// Slow start.
	{
		name: "slow start goes by the clock alone", file: "ramp.go",
		old: "evidence < r.from+need", new: "evidence < r.from+0*need", tests: core,
	},
	{
		name: "slow start goes by successes alone", file: "ramp.go",
		old: "now-r.since < stepTime(cfg) || evidence", new: "evidence", tests: core,
	},
	{
		name: "when all are new all are held back", file: "members.go",
		old: "return !stayed[m.tier]", new: "return len(stayed) < 0", tests: core,
	},
	{
		name: "who founded the pool a moment ago is settled", file: "members.go",
		old: "\t\tp.rampFounders(now)\n", new: "", tests: core,
	},
	{
		name: "the few who are settled carry what the many newcomers do not", file: "ramp.go",
		old: "missing > 0 {", new: "missing > weight {", tests: core,
	},

	// The penalty.
	{
		name: "a backend that fails looks idle", file: "penalty.go",
		old: "if !m.used || p.snap", new: "if true || p.snap", tests: core,
	},
	{
		name: "penalties last for ever", file: "penalty.go",
		old: "penaltyLife); at <= now {", new: "penaltyLife); at < 0 {", tests: core,
	},
	{
		name: "penalties pile up without bound", file: "penalty.go",
		old: "float64(m.penalty.Load()) > p.busiestOther(m)*m.share() {", new: "false {", tests: core,
	},
	{
		name: "penalties are never paid", file: "penalty.go",
		old: "due.m.letGo() &&", new: "false &&", tests: core,
	},
	{
		name: "one end pays for a penalty that has ended and for one that has not", file: "penalty.go",
		old: "if due.at == due.m.payAt && due.m.letGo()", new: "if due.m.letGo()", tests: core,
	},
	{
		name: "one call of the others pays for a failure, however many the others are", file: "snapshot.go",
		old: "max(math.Round((total-own)/own), 1)", new: "max(math.Round(0*(total-own)/own), 1)", tests: core,
	},
	{
		name: "failed calls pay for failed calls", file: "end.go",
		old: "if outcome != OutcomeNeutral && outcome != OutcomeFailure {", new: "if outcome != OutcomeNeutral {", tests: core,
	},
	{
		name: "a penalty outlasts the ejection", file: "eject.go",
		old: "\tp.forgive(m)\n", new: "", tests: core,
	},
}
