package evenkeel

import "time"

// State is where a backend stands.
type State int

// The states.
const (
	StateRemoved          State = iota // not a member
	StateActive                        // picked, at full share
	StateSlowStart                     // picked, at a share that is still rising
	StateOnTrial                       // ejected by outcome, its time is up: one lease tries it
	StateEjectedByOutcome              // out until its time is up
	StateEjectedByHealth               // out until a health check finds it up
	StateEjectedByHand                 // out until Restore
	StateDrained                       // its weight is 0
	StatePaused                        // it asked not to be called for a while (BusyError)
)

var stateNames = [...]string{"removed", "active", "slow start", "on trial", "ejected by outcome", "ejected by health", "ejected by hand", "drained", "paused"}

// String names the state.
func (s State) String() string { return nameOf(stateNames[:], int(s), "State") }

// EventKind is what an Event is about.
type EventKind int

// The kinds.
const (
	EventState         EventKind = iota // a backend's state has changed
	EventPanic                          // health checks took too many backends: they are no longer believed
	EventPanicEnded                     // they are believed again
	EventOverload                       // a call was refused with ErrOverloaded, the first after a time without
	EventOverloadEnded                  // a call has found a place at once again
	EventSource                         // what feeds the members has news, see Pool.SourceNews
)

var kindNames = [...]string{"state", "panic", "panic ended", "overload", "overload ended", "source"}

// String names the kind.
func (k EventKind) String() string { return nameOf(kindNames[:], int(k), "EventKind") }

// Event is one piece of news of a pool. It marshals as JSON and is a slog.LogValuer.
type Event struct {
	Kind    EventKind
	Pool    string    // Config.Name
	At      time.Time // by Config.Now
	Backend any       // EventState: which one, of the pool's type; else nil
	From    State     // EventState only, like the next two
	To      State
	Until   time.Time // StateEjectedByOutcome, StatePaused: when its time is up; else zero
	Cause   error     // of an ejection by outcome or health, or of the source's trouble; else nil
	Text    string    // EventSource: the news in words
}

// Stats is what a pool knows of one backend. It marshals as JSON and is a
// slog.LogValuer.
type Stats struct {
	State      State
	Used       bool      // picked now: also while ejected, if the cap or the panic share says so
	InFlight   int       // leases that have not ended
	Penalty    int       // failed calls that still count as load (see the package comment)
	Load       float64   // what policies compare
	Weight     float64   // as set
	Tier       int       // as set
	Share      float64   // the part of the weight that slow start allows now, from above 0 to 1
	Calls      uint64    // leases begun, ever
	Successes  uint64    // of them, ended well
	Failures   uint64    // of them, failed or past their deadline
	Ejections  int       // ejections by outcome, ever
	Until      time.Time // StateEjectedByOutcome, StatePaused: when its time is up; else zero
	Cause      error     // of an ejection by outcome or health: the counts and the last error; else nil
	LastError  error     // of the last failure, nil if there was none
	BadSignals uint64    // values of SetLoad's signal that were negative or NaN
	Report     Report    // the last one that the backend sent
	ReportedAt time.Time // when it came; zero: none did
	Reports    uint64    // reports that were taken, ever
	BadReports uint64    // reports that were refused, ever
	Slowness   float64   // how many times slower than the others it is taken to be: 1, 2, 4, ...
}

// PoolStats is what a pool knows of itself as a whole. It marshals as JSON and is a
// slog.LogValuer.
type PoolStats struct {
	Name     string // Config.Name
	Members  int
	Usable   int  // members in rotation
	InFlight int  // leases on members that have not ended
	Panic    bool // health checks took too many members and are not believed now
	Backlog  BacklogStats
}

// BacklogStats is what a pool knows of the calls that wait for a backend.
type BacklogStats struct {
	Waiting    int           // calls in the backlog now
	OldestWait time.Duration // how long the longest of them has waited
	Served     uint64        // calls that waited and were given a backend, ever
	Shed       uint64        // calls refused with ErrOverloaded, ever
	GaveUp     uint64        // calls whose context ended while they waited, ever
}

// Report is what a server says of its own load, with an answer or to a probe.
type Report struct {
	// InFlight is how many requests the server held when it answered, this one not
	// counted; it need not be a whole number. A value that is negative, NaN or above
	// 1e9 makes the report a bad one.
	InFlight float64

	// ServiceTime is how long the server takes for a request: best an average over all
	// its traffic of the logarithm of latency divided by the requests that it held when
	// the request came, this one counted. 0: it does not say. One that is negative makes
	// the report a bad one. Only the relation to what the other servers of the pool say
	// matters.
	ServiceTime time.Duration
}
