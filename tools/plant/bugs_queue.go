package main

// queueBugs are wrong limits and waits.
var queueBugs = []bug{
	{
		name: "a freed place does not wake a waiter", file: "queue.go",
		old: "if p.cfg.MaxInFlight == 0 || p.backlog.waiting.Load() == 0 {", new: "if p.cfg.MaxInFlight == 0 || p.backlog.waiting.Load() <= 1 {", tests: core,
	},
	{
		name: "the newest waiter is served first", file: "queue.go",
		old: "w.prev, w.next = q.head.prev, &q.head\n\tw.prev.next, q.head.prev = w, w", new: "w.prev, w.next = &q.head, q.head.next\n\tw.next.prev, q.head.next = w, w", tests: core,
	},
	{
		name: "the backlog takes one too many", file: "wait.go",
		old: "n >= int64(p.cfg.Backlog)", new: "n > int64(p.cfg.Backlog)", tests: core,
	},
	{
		name: "the limit takes one too many", file: "counts.go",
		old: ">= int(limit) {", new: "> int(limit) {", tests: core,
	},
	{
		name: "penalties take places", file: "counts.go",
		old: "booked(w)-int(s.penalty.Load()) >= int(limit)", new: "booked(w) >= int(limit)", tests: core,
	},
	{
		name: "one who was served and gave up keeps the place", file: "wait.go",
		old: "p.ended(w.got, w.start, OutcomeNeutral, nil)\n\tcase fateMaxWait:", new: "case fateMaxWait:", tests: core,
	},
	{
		name: "nobody tells who waits that no backend is left", file: "queue.go",
		old: "return w, fateNobody", new: "continue", tests: core,
	},
	{
		name: "MaxWait is not kept", file: "queue.go",
		old: "until = later(w.since, p.cfg.MaxWait)", new: "until = later(w.since, 2*p.cfg.MaxWait)", tests: core,
	},
	{
		name: "a place that is freed late goes to one who has waited too long", file: "queue.go",
		old: "if p.cfg.MaxWait > 0 && now-oldest.since >= p.cfg.MaxWait {", new: "if false {", tests: core,
	},
	{
		name: "a retry that waits keeps others from free backends", file: "queue.go",
		old: "case w == nil:", new: "case w == nil || w != b.oldest():", tests: core,
	},
	{
		name: "a call is refused because retries fill the backlog, though a backend is free", file: "wait.go",
		old: "if b.queues[0].size == 0 && b.waiting.Load() > 0 {", new: "if false {", tests: core,
	},
	{
		name: "a call that may go anywhere overtakes an older retry", file: "queue.go",
		old: "case next != nil && next.number < w.number:", new: "case next != nil:", tests: core,
	},
	{
		name: "a policy that panics leaves its waiter in the backlog", file: "wait.go",
		old: "if panicked && w.fate == fateWaits && w.in != nil {", new: "if false {", tests: core,
	},
	{
		name: "a trial goes to the next caller although others wait", file: "balancer.go",
		old: "if p.backlog.waiting.Load() == 0 { // else a trial", new: "if true { // else a trial", tests: core,
	},
	{
		name: "NoWait waits", file: "wait.go",
		old: "n >= int64(p.cfg.Backlog) || noWait {", new: "n >= int64(p.cfg.Backlog) {", tests: conformance,
	},
	{
		name: "NoWait says that the backlog is full", file: "wait.go",
		old: "reason = ShedNoWait", new: "reason = ShedFull", tests: core,
	},
	{
		name: "a call is refused by one scan during which places moved", file: "place.go",
		old: "after == before {", new: "after == before || true {", tests: core,
	},
	{
		name: "every refused call is news", file: "balancer.go",
		old: "if p.overloaded.Load() == is || !p.overloaded.CompareAndSwap(!is, is) {", new: "if p.overloaded.Store(is); !is {", tests: core,
	},
}
