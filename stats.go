package evenkeel

import "time"

// Stats is what a pool knows of one backend.
type Stats struct {
	State      State
	InFlight   int       // leases that have not ended
	Used       bool      // picked now: also while ejected, if the cap or the panic share says so
	Weight     float64   // as set
	Share      float64   // of the weight that slow start allows now: 1 if it is not ramping
	Held       int       // failed calls that still count as load
	Until      time.Time // StateEjectedByOutcome: when its time is up; else zero
	Cause      error     // of an ejection by outcome or health: the counts and the last error; else nil
	LastError  error     // of the last failure, nil if there was none
	Failures   int       // failures and passed deadlines, ever
	Ejections  int       // ejections by outcome, ever
	BadSignals uint64    // values of SetLoad's signal that were negative or NaN
	Panic      bool      // the pool's health checks took too many and are not believed now
}

// stats makes a member's Stats. The caller holds p.mu.
func (p *Pool[T]) stats(m *member[T]) Stats {
	s := Stats{
		State: m.state(), InFlight: m.inFlight(), Used: m.used && !m.removed,
		Weight: m.weight, Share: m.ramp.share(), Held: int(m.held.Load()),
		Cause: m.why(), LastError: m.lastErr, Failures: m.failures, Ejections: m.times,
		BadSignals: m.badSignal.Load(), Panic: p.snap.Load().panics,
	}
	if s.State == StateEjectedByOutcome {
		s.Until = p.start.Add(m.until)
	}
	return s
}

// LineStats is what a pool knows of the calls that wait for a backend.
type LineStats struct {
	Waiting    int           // calls in the backlog now
	OldestWait time.Duration // how long the longest of them has waited
	Served     uint64        // calls that waited and were given a backend, ever
	Shed       uint64        // calls refused with ErrOverloaded, ever
	GaveUp     uint64        // calls whose context ended while they waited, ever
}

// Line returns the state of the backlog.
func (p *Pool[T]) Line() LineStats { return p.line.stats(p) }
