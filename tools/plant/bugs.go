package main

// Packages that should notice, under short names.
var (
	core        = []string{"."}
	conformance = []string{"./sqf"} // it runs lbtest, as every policy does
	inHTTP      = []string{"./lbhttp"}
	inHealth    = []string{"./health"}
	inSim       = []string{"./bench/sim"}
)

// bugs are planted in this order. To add one, give it a name that says what is
// wrong, the file, the shortest piece of it that occurs once and says what it does,
// what stands there instead, and the packages whose tests should notice. Every new
// rule brings its bug.
var bugs = []bug{
	// The seven of "Test it, then break it on purpose", in their Go form.
	{
		name: "the two are drawn with replacement: the same backend can come up twice", file: "p2c/p2c.go",
		old:   "return v.Lesser(draw.Two(p.source.Uint64(), v.Len()))",
		new:   "u := p.source.Uint64()\n\treturn v.Lesser(draw.Index(u, v.Len()), draw.Index(draw.Mix(u), v.Len()))",
		tests: []string{"./p2c"},
	},
	{
		name: "the heavier of the two is taken", file: "policy.go",
		old: "if uint32(b) < uint32(a) {", new: "if uint32(b) > uint32(a) {", tests: []string{"./p2c"},
	},
	{
		name: "ties go to the lowest index", file: "p2c/p2c.go",
		old:   "return v.Lesser(draw.Two(p.source.Uint64(), v.Len()))",
		new:   "i, j := draw.Two(p.source.Uint64(), v.Len())\n\treturn v.Lesser(min(i, j), max(i, j))",
		tests: []string{"./p2c"},
	},
	{
		name: "a simulated server works ahead while it is idle", file: "bench/sim/run.go",
		old:   "wk.request, wk.busy, wk.left, wk.since = i, true, work, r.now",
		new:   "wk.request, wk.busy, wk.left, wk.since = i, true, max(work-(r.now-wk.since)*s.speed, 0), r.now",
		tests: inSim,
	},
	{
		name: "a call that panics is never counted down", file: "lease.go",
		old: "defer lease.Release()\n\terr = fn", new: "err = fn", tests: conformance,
	},
	{
		name: "backends ejected by hand are picked", file: "snapshot.go",
		old: "s.none.EjectedByHand++\n\t\t\tcontinue", new: "s.none.EjectedByHand++",
		tests: conformance,
	},
	{
		name: "the counts are ignored", file: "policy.go",
		old: "if uint32(b) < uint32(a) {", new: "if false {", tests: []string{"./p2c"},
	},

	// The random draws.
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

	// The policies.
	{
		name: "of D looks the last is left out", file: "p2c/ofd.go",
		old: "k < p.d && tries", new: "k < p.d-1 && tries", tests: []string{"./p2c"},
	},
	{
		name: "the same backend is looked at twice among D", file: "p2c/ofd.go",
		old: "if slices.Contains(drawn[:k], i) {", new: "if false && slices.Contains(drawn[:k], i) {", tests: []string{"./p2c"},
	},
	{
		name: "with many looks ties go to the first", file: "p2c/ofd.go",
		old: "if draw.Index(stream.Next(), tied) == 0 {", new: "if false {", tests: []string{"./p2c"},
	},
	{
		name: "a full scan takes the weightiest of equals", file: "policy.go",
		old: "if draw.Unit(stream.Next())*tied < v.Weight(i) {", new: "if v.Weight(i) > v.Weight(at) {", tests: []string{"./sqf"},
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
		old: "old == nil || !next.follow(old)", new: "true", tests: []string{"./roundrobin"},
	},
	{
		name: "a retry takes a turn", file: "roundrobin/roundrobin.go",
		old: "if v.Partial() {", new: "if false {", tests: []string{"./roundrobin"},
	},
	{
		name: "random takes the first", file: "random/random.go",
		old: "return v.Draw(p.source.Uint64()), ", new: "return 0 * v.Draw(p.source.Uint64()), ", tests: []string{"./random"},
	},

	// Counts and leases.
	{
		name: "a lease can be released twice", file: "lease.go",
		old: "func (l *Lease[T]) Release() {\n\tif l.m == nil || l.over.Swap(1) != 0 {", new: "func (l *Lease[T]) Release() {\n\tif l.m == nil {",
		tests: conformance,
	},
	{
		name: "Done after Release counts down again", file: "lease.go",
		old: "func (l *Lease[T]) Done(err error) {\n\tif l.m == nil || l.over.Swap(1) != 0 {", new: "func (l *Lease[T]) Done(err error) {\n\tif l.m == nil {",
		tests: conformance,
	},
	{
		name: "a dead context is counted", file: "lease.go",
		old: "if ctx.Err() != nil {\n\t\treturn Lease[T]{}, context.Cause(ctx)\n\t}\n\ts := d.pool.snap.Load()", new: "s := d.pool.snap.Load()",
		tests: conformance,
	},
	{
		name: "the cause of a context is lost", file: "lease.go",
		old:   "return Lease[T]{}, context.Cause(ctx)\n\t}\n\ts := d.pool.snap.Load()",
		new:   "return Lease[T]{}, ctx.Err()\n\t}\n\ts := d.pool.snap.Load()",
		tests: conformance,
	},
	{
		name: "failures on the books show as calls in flight", file: "load.go",
		old: "return max(booked(w)-held, 0)", new: "return max(booked(w)-0*held, 0)", tests: core,
	},
	{
		name: "a weight does not divide the load", file: "load.go",
		old: "value /= c.weights[i]", new: "value /= 1", tests: []string{"./sqf"},
	},
	{
		name: "a broken load signal draws the traffic", file: "load.go",
		old: "s.badSignal.Add(1)\n\t\t\tv = MaxLoad", new: "s.badSignal.Add(1)\n\t\t\tv = 0", tests: core,
	},
	{
		name: "a backend that fails looks idle", file: "eject.go",
		old: "if m.used && len(p.snap.Load().in) > 1 {", new: "if false {", tests: core,
	},
	{
		name: "a failure stays on the books for ever", file: "debt.go",
		old: "now-s.debt.last.Load() > int64(debtLife)", new: "now < 0", tests: core,
	},

	// Members.
	{
		name: "a duplicate is accepted", file: "pool.go",
		old: "if _, twice := seen[b.Backend]; twice {", new: "if false {", tests: core,
	},
	{
		name: "a negative weight is accepted", file: "pool.go",
		old: "if !(w >= 0) || math.IsInf(w, 0) {", new: "if w != w || math.IsInf(w, 0) {", tests: core,
	},
	{
		name: "a drained backend is picked", file: "snapshot.go",
		old: "s.none.Drained++\n\t\t\tcontinue", new: "s.none.Drained++", tests: conformance,
	},
	{
		name: "a backend that comes back has lost its open leases", file: "pool.go",
		old: "return m.inFlight() > 0 || m.byHand", new: "return m.byHand", tests: core,
	},
	{
		name: "a blip of the resolver ends an ejection by hand", file: "pool.go",
		old: "return m.inFlight() > 0 || m.byHand ||", new: "return m.inFlight() > 0 ||", tests: core,
	},
	{
		name: "Restore leaves the ejection by hand", file: "pool.go",
		old: "m.byHand, m.down, m.downErr = false, false, nil", new: "m.down, m.downErr = false, nil", tests: conformance,
	},

	// Ejection by outcome, health and slow start.
	{
		name: "one failure too many is needed to eject", file: "eject.go",
		old: "n >= cfg.Consecutive {", new: "n > cfg.Consecutive {", tests: core,
	},
	{
		name: "a success does not end a run of failures", file: "eject.go",
		old: "newest := uint32(m.good.Load())", new: "newest := m.floor.Load()", tests: core,
	},
	{
		name: "the cap is tested before the ejection it would make", file: "eject.go",
		old: "out > p.mayEject(usable)", new: "out-1 > p.mayEject(usable)", tests: core,
	},
	{
		name: "the last usable backend is ejected", file: "eject.go",
		old: " || others == 0 {", new: " {", tests: core,
	},
	{
		name: "outcomes from before an ejection count after it", file: "eject.go",
		old: "m.phase != phaseIn || !newer(start, m.floor.Load())", new: "m.phase != phaseIn", tests: core,
	},
	{
		name: "a trial without a verdict is never given back", file: "eject.go",
		old: "return later(m.trialAt, m.pool.cfg.Ejection.TrialTimeout)", new: "return 0", tests: core,
	},
	{
		name: "a trial that was cancelled locks the backend out", file: "eject.go",
		old: "m.phase = phaseOffered // it said nothing", new: "return false // it said nothing", tests: core,
	},
	{
		name: "every lease is a trial", file: "eject.go",
		old: "m.phase, m.trial, m.trialAt = phaseTried, start, p.elapsed()", new: "m.trial, m.trialAt = start, p.elapsed()", tests: core,
	},
	{
		name: "a relapse is not ejected for longer", file: "eject.go",
		old: "m.level = min(m.level+1, top)", new: "m.level = 1", tests: core,
	},
	{
		name: "a backend is compared with itself too", file: "outlier.go",
		old: "p.overall.good - m.said[0], p.overall.bad - m.said[1]", new: "p.overall.good, p.overall.bad", tests: core,
	},
	{
		name: "a failure rate is judged without a look at the others", file: "outlier.go",
		old: "if lnFisherTail(bad, good+bad, othersBad, othersGood+othersBad) > lnAlpha {", new: "if false {", tests: core,
	},
	{
		name: "the caller's cancellation is a failure", file: "outcome.go",
		old: "return OutcomeNeutral\n", new: "return OutcomeFailure\n", tests: core,
	},
	{
		name: "health checks that took too many are still believed", file: "snapshot.go",
		old: "all := s.panics || ", new: "all := ", tests: core,
	},
	{
		name: "a health check undoes an ejection by hand", file: "pool.go",
		old: "m.down = !up\n", new: "m.down, m.byHand = !up, m.byHand && !up\n", tests: core,
	},
	{
		name: "slow start goes by the clock alone", file: "slowstart.go",
		old: "r.passed < need || now-r.since", new: "r.passed < 0*need || now-r.since", tests: core,
	},
	{
		name: "slow start goes by successes alone", file: "slowstart.go",
		old: "r.passed < need || now-r.since < cfg.Window/rampSteps", new: "r.passed < need", tests: core,
	},
	{
		name: "when all are new all are held back", file: "slowstart.go",
		old: "if !settled {\n\t\treturn", new: "if false {\n\t\treturn", tests: core,
	},
	{
		name: "events are told twice", file: "event.go",
		old: "p.news.events = nil\n", new: "", tests: core,
	},

	// The backlog.
	{
		name: "a freed place does not wake a waiter", file: "backlog.go",
		old: "func (l *line[T]) freed(p *Pool[T]) {\n\tif l.waiting.Load() == 0 {", new: "func (l *line[T]) freed(p *Pool[T]) {\n\tif l.waiting.Load() <= 1 {", tests: core,
	},
	{
		name: "the newest waiter is served first", file: "backlog.go",
		old: "w.prev, w.next = l.head.prev, &l.head\n\tw.prev.next, l.head.prev = w, w", new: "w.prev, w.next = &l.head, l.head.next\n\tw.next.prev, l.head.next = w, w", tests: core,
	},
	{
		name: "the backlog takes one too many", file: "backlog.go",
		old: "n >= int64(p.cfg.Backlog)", new: "n > int64(p.cfg.Backlog)", tests: core,
	},
	{
		name: "the limit takes one too many", file: "load.go",
		old: "if limit > 0 && booked(w)-int(s.held.Load()) >= int(limit) {", new: "if limit > 0 && booked(w)-int(s.held.Load()) > int(limit) {", tests: core,
	},
	{
		name: "one who was served and gave up keeps the place", file: "backlog.go",
		old: "p.ended(w.got, w.start, OutcomeNeutral, nil)\n\t\t\treturn", new: "return", tests: core,
	},
	{
		name: "nobody tells who waits that no backend is left", file: "backlog.go",
		old: "l.settle(w, fateNobody)\n\t\t\tw = next\n", new: "w = next\n", tests: core,
	},
	{
		name: "MaxWait is not kept", file: "backlog.go",
		old: "until = later(w.since, p.cfg.MaxWait)", new: "until = later(w.since, 2*p.cfg.MaxWait)", tests: core,
	},
	{
		name: "a place that is freed late goes to one who has waited too long", file: "backlog.go",
		old: "if p.cfg.MaxWait > 0 && now-oldest.since >= p.cfg.MaxWait {", new: "if false {", tests: core,
	},
	{
		name: "a retry that waits keeps others from free backends", file: "backlog.go",
		old: "if l.picky > 0 && l.picky == int(l.waiting.Load()) {", new: "if false {", tests: core,
	},
	{
		name: "a policy that panics leaves its waiter in the line", file: "backlog.go",
		old: "if panicked && w.fate == fateWaits && w.next != nil {", new: "if false {", tests: core,
	},
	{
		name: "a trial goes to the next caller although others wait", file: "snapshot.go",
		old: "len(s.trials) > 0 && p.line.waiting.Load() == 0", new: "len(s.trials) > 0", tests: core,
	},
	{
		name: "a rule of outcomes that panics keeps the count", file: "outcome.go",
		old: "defer func() { p.ended(m, start, outcome, err) }()",
		new: "defer func() {\n\t\tif outcome != OutcomeNeutral {\n\t\t\tp.ended(m, start, outcome, err)\n\t\t}\n\t}()", tests: core,
	},
	{
		name: "failures pile up on the books without bound", file: "debt.go",
		old: "if float64(m.held.Load()) > p.busiestOther(m)*m.share() {", new: "if false {", tests: core,
	},
	{
		name: "the successes since a return hide a relapse", file: "outlier.go",
		old: "if from >= to {", new: "if true {", tests: core,
	},
	{
		name: "a backend that was down when it was removed is down for ever", file: "pool.go",
		old: "m.down && now-m.removedAt < downLife", new: "m.down", tests: core,
	},

	// Package lbhttp.
	{
		name: "the end of a body does not end the request", file: "lbhttp/attempt.go",
		old: "if err != nil {\n\t\tb.ended(err)", new: "if err != nil && err != io.EOF {\n\t\tb.ended(err)", tests: inHTTP,
	},
	{
		name: "closing a body does not end the request", file: "lbhttp/attempt.go",
		old: "a.end(context.Cause(a.caller.Context())) // closed", new: "_ = a // closed", tests: inHTTP,
	},
	{
		name: "the end of the context does not free an abandoned body", file: "lbhttp/attempt.go",
		old: "context.AfterFunc(req.Context(), a.expire)", new: "context.AfterFunc(req.Context(), func() {})", tests: inHTTP,
	},
	{
		name: "a base that panics leaves a call in flight", file: "lbhttp/attempt.go",
		old: "a.abandon()\n", new: "_ = a\n", tests: inHTTP,
	},
	{
		name: "the response's Request is not the caller's", file: "lbhttp/attempt.go",
		old: "resp.Request = req\n", new: "", tests: inHTTP,
	},
	{
		name: "the caller's URL is changed", file: "lbhttp/attempt.go",
		old: "address(&a.copy.url, to)", new: "address(req.URL, to)\n\t\ta.copy.url = *req.URL", tests: inHTTP,
	},
	{
		name: "the Host header is the backend's", file: "lbhttp/attempt.go",
		old: "out.Host = req.URL.Host", new: "out.Host = a.copy.url.Host", tests: inHTTP,
	},
	{
		name: "a status of 500 is a success", file: "lbhttp/outcome.go",
		old: "status >= 500 ||", new: "status > 500 ||", tests: inHTTP,
	},
	{
		name: "a caller whose own body fails hurts the backend", file: "lbhttp/outcome.go",
		old: "case a.Err != nil && a.CallerFailed:", new: "case false:", tests: inHTTP,
	},
	{
		name: "a request that may have been received is sent again", file: "lbhttp/retry.go",
		old: "case resp == nil && !idempotent(a.caller) && !a.unsent(err):", new: "case false:", tests: inHTTP,
	},
	{
		name: "a retry goes to a backend that was tried", file: "lbhttp/transport.go",
		old: "t.except.LeaseFor(a.caller.Context(), evenkeel.Call[string]{Avoid: tried})", new: "t.except.LeaseFor(a.caller.Context(), evenkeel.Call[string]{Avoid: tried[:0]})", tests: inHTTP,
	},
	{
		name: "the first attempt is counted until the last one ends", file: "lbhttp/transport.go",
		old: "a.end(err)\n\t\ttried", new: "defer a.end(err)\n\t\ttried", tests: inHTTP,
	},
	{
		name: "retries have no budget", file: "lbhttp/retry.go",
		old: "if !t.budget.spend(time.Now()) {", new: "if t.budget.spend(time.Now()); false {", tests: inHTTP,
	},
	{
		name: "a connection made for one name is used for another", file: "lbhttp/conns.go",
		old: "if r == nil || r.name != n {", new: "if r == nil {", tests: inHTTP,
	},

	// Package health.
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

	// The simulator.
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
