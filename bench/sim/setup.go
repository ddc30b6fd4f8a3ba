package sim

import (
	"errors"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// The names of a run's streams of random numbers.
const (
	streamArrivals = iota + 1
	streamWork
	streamDispatcher
	streamFailure
	streamThink
	streamPolicy
	streamKeys
	streamProbes
)

// epoch is the pools' time at the beginning of a run.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// errFailed is what a failing server answers.
var errFailed = errors.New("sim: the server failed")

// request is one simulated request. It stays where it is until it is over,
// because a Lease must not be copied.
type request struct {
	lease   evenkeel.Lease[int]
	err     error // of Lease, or the server's answer
	number  int64
	arrived float64
	reached float64 // when it came to its server
	held    int     // what the server held then, this one counted
	report  evenkeel.Report
	work    float64
	client  int32
	pool    int32
	counted bool
	key     int32
	gen     uint32 // tells this request from those that had its place before
	wait    *wait  // where it may have to wait; nil: it may not
}

const (
	chunkBits = 10
	chunkSize = 1 << chunkBits
)

// run is one simulation in progress.
type run struct {
	cfg     Config
	now     float64
	unit    float64
	half    float64 // of the RTT
	limited bool    // calls may wait in the backlog

	agenda   agenda
	servers  []server
	pools    []*evenkeel.Pool[int]
	lbs      []evenkeel.Balancer[int]
	lines    []line    // of each dispatcher
	board    []float64 // Board: the queue lengths as last read
	drained  []float64 // WorkLeft: when each server will have finished all it holds
	chunks   []*[chunkSize]request
	free     []int32
	arrivals func() (float64, bool)

	nextWork func() float64
	keys     *keyspace // nil: requests have no key

	dispatcher, failure, think, asked *Stream

	tally
}

func newRun(cfg Config) (*run, error) {
	r := &run{
		cfg: cfg, unit: float64(cfg.Unit), half: cfg.RTT / 2, limited: cfg.Pool.MaxInFlight > 0,
		tally:      newTally(cfg.Servers),
		dispatcher: NewStream(cfg.Seed, streamDispatcher),
		failure:    NewStream(cfg.Seed, streamFailure),
		think:      NewStream(cfg.Seed, streamThink),
		asked:      NewStream(cfg.Seed, streamProbes),
	}
	backends := make([]int, cfg.Servers)
	r.servers = make([]server, cfg.Servers)
	for i := range r.servers {
		backends[i] = i
		speed := 1.0
		if cfg.Speeds != nil {
			speed = cfg.Speeds[i]
		}
		r.servers[i] = newServer(speed, cfg.Workers)
		if cfg.Failing != nil {
			r.servers[i].failing = cfg.Failing[i]
		}
	}
	if cfg.Keys != nil {
		keys, err := newKeyspace(cfg.Keys, cfg.Servers, NewStream(cfg.Seed, streamKeys))
		if err != nil {
			return nil, err
		}
		r.keys = keys
	}
	signal := r.signal()
	policySeeds := NewStream(cfg.Seed, streamPolicy)
	for range cfg.Dispatchers {
		pc := cfg.Pool
		pc.Seed = policySeeds.Uint64() | 1
		pc.Now = func() time.Time { return epoch.Add(time.Duration(float64(r.now * r.unit))) }
		if !pc.Ejection.Off {
			pc.OnEvent = r.countEjections(pc.OnEvent)
		}
		pool, err := evenkeel.NewPool(pc, backends...)
		if err != nil {
			return nil, err
		}
		for i, w := range cfg.Weights {
			if err := pool.SetWeight(i, w); err != nil {
				return nil, err
			}
		}
		if signal != nil {
			pool.SetLoad(signal)
		}
		lb, err := cfg.Policy(pool, policySeeds.Uint64()|1)
		if err != nil {
			return nil, err
		}
		r.pools = append(r.pools, pool)
		r.lbs = append(r.lbs, lb)
	}
	r.lines = make([]line, cfg.Dispatchers)
	r.schedule()
	return r, nil
}

// schedule puts on the agenda what is known from the beginning.
func (r *run) schedule() {
	cfg := &r.cfg
	for i, c := range cfg.Changes {
		r.agenda.add(kindChange, c.At, int32(i), 0, 0)
	}
	for i, a := range cfg.Actions {
		r.agenda.add(kindChange, a.At, int32(i), 1, 0)
	}
	if cfg.Signal == Board {
		r.agenda.add(kindRefresh, 0, 0, 0, 0)
	}
	if cfg.SampleEvery > 0 {
		r.agenda.add(kindSample, 0, 0, 0, 0)
	}
	if cfg.Arrivals != nil {
		r.arrivals = cfg.Arrivals.Start(NewStream(cfg.Seed, streamArrivals))
	}
	random := NewStream(cfg.Seed, streamWork)
	r.nextWork = func() float64 { return cfg.Work.Draw(random) }
	if recorded, ok := cfg.Work.(*Recorded); ok {
		r.nextWork = recorded.inTurn()
	}
	for c := range cfg.Clients {
		r.agenda.add(kindArrive, 0, int32(c), 0, 0)
	}
}

// signal is what Config.Signal makes of the pools' seam for loads from outside.
func (r *run) signal() func(backend int) func(inFlight int) float64 {
	switch r.cfg.Signal {
	case Board:
		r.board = make([]float64, r.cfg.Servers)
		return func(b int) func(int) float64 { return func(int) float64 { return r.board[b] } }
	case WorkLeft:
		r.drained = make([]float64, r.cfg.Servers)
		return func(b int) func(int) float64 { return func(int) float64 { return max(r.drained[b]-r.now, 0) } }
	}
	return nil
}

// countEjections returns an OnEvent that counts the ejections by outcome, and hands
// every event on to next.
func (r *run) countEjections(next func(evenkeel.Event)) func(evenkeel.Event) {
	return func(e evenkeel.Event) {
		if e.To == evenkeel.StateEjectedByOutcome {
			r.ejections[e.Backend.(int)]++
		}
		if next != nil {
			next(e)
		}
	}
}
