package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// A Policy makes the balancer of one dispatcher over its pool, whose backends are
// the server numbers 0, 1, 2, ... seed is never 0 and differs between the
// dispatchers of a run.
type Policy func(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error)

// Random is package random.
func Random(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
	return random.NewWith(pool, random.Config{Seed: seed})
}

// RoundRobin is package roundrobin.
func RoundRobin(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
	return roundrobin.NewWith(pool, roundrobin.Config{Seed: seed})
}

// SQF is package sqf.
func SQF(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
	return sqf.NewWith(pool, sqf.Config{Seed: seed})
}

// Choices is package p2c with d choices.
func Choices(d int) Policy {
	return func(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
		return p2c.NewWith(pool, p2c.Config{D: d, Seed: seed})
	}
}

// Custom is any evenkeel.Policy, such as a deliberately wrong one. make is called
// once for each dispatcher.
func Custom(make func() evenkeel.Policy) Policy {
	return func(pool *evenkeel.Pool[int], seed uint64) (evenkeel.Balancer[int], error) {
		return evenkeel.NewSeededDispatcher(pool, make(), seed), nil
	}
}

// Signal is the load that the dispatchers see of a server.
type Signal int

const (
	// InFlight is each dispatcher's own count of the requests it has in flight:
	// with one dispatcher and no network delay the live truth.
	InFlight Signal = iota
	// Board is the number of requests at each server as read at the last multiple
	// of Config.Refresh, the same for all dispatchers.
	Board
	// WorkLeft is the time each server still needs for all it holds, were its
	// workers to share it evenly, which no real balancer can know: 0 when it is
	// idle, infinite when it stands still with work to do.
	WorkLeft
)

// Change is a new state of one server from a moment on. It holds for the request
// that the server is working on too.
type Change struct {
	At      float64
	Server  int
	Speed   float64 // as Config.Speeds; 0 stands still
	Failing float64 // as Config.Failing
}

// Action is anything that is done to the pools of the dispatchers at a moment of
// virtual time, such as to eject or to replace a backend.
type Action struct {
	At float64
	Do func(pools []*evenkeel.Pool[int]) error
}

// Config is one simulation. Servers, Policy, Work and one of Arrivals and Clients
// must be set, and Horizon or Requests.
type Config struct {
	// Servers is the number of servers, at least 1.
	Servers int
	// Speeds is the speed of each server, 0 or more; nil: all 1. A request of work
	// w takes one worker of speed s the time w/s.
	Speeds []float64
	// Workers is the number of requests each server works on at once. 0: 1.
	Workers int
	// Failing is the share of each server's requests that end in an error, from 0
	// to 1; nil: none.
	Failing []float64
	// FailWork is the share of its work that a failing request takes: 0 fails at
	// once, 1 takes its time. It must not be negative.
	FailWork float64
	// Changes are the servers' changes of state, in any order.
	Changes []Change

	// Arrivals says when requests arrive, independent of the answers (open loop).
	Arrivals Arrivals
	// Clients is the number of clients of a closed loop: each sends its next
	// request when it has the answer to the last, after Think.
	Clients int
	// Think is the time a client of a closed loop takes, exponential with this
	// mean; 0: none.
	Think float64
	// Work says how much work each request is.
	Work Work
	// Keys says what requests are about. Their leases have the key then. nil: they have none.
	Keys *Keys

	// Policy is what every dispatcher balances by.
	Policy Policy
	// Dispatchers is the number of balancers, each with a pool of its own. A
	// request of an open loop goes to a random one; a client of a closed loop
	// stays with one. 0: 1.
	Dispatchers int
	// Signal is the load that they see.
	Signal Signal
	// Refresh is the time between two readings of the Board.
	Refresh float64
	// RTT is the network's delay, half on the way to the server and half on the
	// way back. A request counts as in flight from the pick until its answer is
	// back.
	RTT float64

	// Reporting is the share of the servers that report with every answer how many
	// requests they hold and their service time: those with the highest numbers. 0:
	// none.
	Reporting float64
	// Probes is how many random servers each request's dispatcher asks for a report
	// right before it picks, on average. It needs Reporting.
	Probes float64
	// Lying is what the first of the reporting servers says it holds, in place of the
	// truth; nil: the truth. It may be any number.
	Lying func() float64

	// Pool is the Config of every pool. Now and Seed are set by the simulator.
	// Its zero value is the recommended set-up, with ejection and slow start on;
	// Plain is without. With MaxInFlight set requests may wait in the backlog. No
	// timer runs there: that an ejection or a MaxWait is over is seen when the next
	// request arrives or ends.
	Pool evenkeel.Config
	// Weights are the backends' weights in every pool; nil: all 1.
	Weights []float64
	// Patience is how long a request waits in the backlog before its context is
	// cancelled. 0: for ever.
	Patience float64
	// Actions are done to the pools, in any order.
	Actions []Action
	// Unit is the time on the pool's clock that one unit of simulated time takes.
	// 0: 1 s.
	Unit time.Duration

	// Warmup: requests that arrive up to here are not counted in the Result.
	Warmup float64
	// Horizon: nothing arrives after it. What has arrived is finished and counted.
	// 0: no limit, but there must be one of Requests.
	Horizon float64
	// Requests is the most requests that arrive, those of the warm-up included. 0:
	// no limit.
	Requests int64

	// Seed makes the run. 0 is a seed like any other.
	Seed uint64

	// ProbeEvery notes the queue lengths at every so-manyth arrival, for
	// Result.Tails. 0: never.
	ProbeEvery int
	// SampleEvery notes the queue length of each server at this distance, for
	// Result.Queues. 0: never.
	SampleEvery float64
}

// Plain is a pool configuration without ejection, slow start and slowness, for runs
// that compare policies by the count.
func Plain() evenkeel.Config {
	c := Adaptive()
	c.Slowness.Off = true
	return c
}

// Adaptive is Plain with slowness on.
func Adaptive() evenkeel.Config {
	return evenkeel.Config{Ejection: evenkeel.Ejection{Off: true}, SlowStart: evenkeel.SlowStart{Off: true}}
}

// ErrBadConfig is matched by the error of Run for a Config that is refused.
var ErrBadConfig = errors.New("sim: bad config")

func bad(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrBadConfig, field, fmt.Sprintf(format, args...))
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// withDefaults checks every field and fills in what is left 0.
func (c Config) withDefaults() (Config, error) {
	if c.Servers < 1 {
		return c, bad("Servers", "%d is below 1", c.Servers)
	}
	if c.Workers < 0 || c.Dispatchers < 0 || c.Clients < 0 || c.Requests < 0 || c.ProbeEvery < 0 {
		return c, bad("Workers, Dispatchers, Clients, Requests, ProbeEvery", "one of them is negative")
	}
	for _, v := range []struct {
		field string
		value float64
	}{
		{"Think", c.Think}, {"Refresh", c.Refresh}, {"Reporting", c.Reporting}, {"Probes", c.Probes}, {"RTT", c.RTT}, {"Patience", c.Patience}, {"FailWork", c.FailWork},
		{"Warmup", c.Warmup}, {"Horizon", c.Horizon}, {"SampleEvery", c.SampleEvery},
	} {
		if !finite(v.value) || v.value < 0 {
			return c, bad(v.field, "%v is not a finite number of 0 or more", v.value)
		}
	}
	if c.Unit < 0 {
		return c, bad("Unit", "%v is negative", c.Unit)
	}
	for _, l := range []struct {
		field  string
		values []float64
		max    float64
	}{{"Speeds", c.Speeds, math.MaxFloat64}, {"Failing", c.Failing, 1}, {"Weights", c.Weights, math.MaxFloat64}} {
		if l.values != nil && len(l.values) != c.Servers {
			return c, bad(l.field, "there are %d for %d servers", len(l.values), c.Servers)
		}
		for i, v := range l.values {
			if !(v >= 0 && v <= l.max) {
				return c, bad(l.field, "server %d has %v", i, v)
			}
		}
	}
	for _, ch := range c.Changes {
		if ch.Server < 0 || ch.Server >= c.Servers || !finite(ch.At) || ch.At < 0 ||
			!finite(ch.Speed) || ch.Speed < 0 || !(ch.Failing >= 0 && ch.Failing <= 1) {
			return c, bad("Changes", "%+v is not a change of one of %d servers", ch, c.Servers)
		}
	}
	for _, a := range c.Actions {
		if a.Do == nil || !finite(a.At) || a.At < 0 {
			return c, bad("Actions", "the one at %v does nothing or has no time", a.At)
		}
	}
	switch {
	case c.Work == nil:
		return c, bad("Work", "it is nil")
	case c.Policy == nil:
		return c, bad("Policy", "it is nil")
	case (c.Arrivals == nil) == (c.Clients == 0):
		return c, bad("Arrivals, Clients", "one of them must be set, and not both")
	case c.Horizon == 0 && c.Requests == 0:
		return c, bad("Horizon, Requests", "one of them must be set, or the run has no end")
	case c.Horizon > 0 && c.Warmup >= c.Horizon:
		return c, bad("Warmup", "%v is not before the horizon, %v", c.Warmup, c.Horizon)
	case c.Probes > 0 && c.Reporting == 0:
		return c, bad("Probes", "no server is Reporting")
	case c.Reporting > 1:
		return c, bad("Reporting", "%v is not a share", c.Reporting)
	case c.Signal < InFlight || c.Signal > WorkLeft:
		return c, bad("Signal", "%d is not one", c.Signal)
	case (c.Signal == Board) != (c.Refresh > 0):
		return c, bad("Refresh", "a board needs one, and only a board")
	case c.Pool.MaxInFlight == 0 && c.Patience > 0:
		return c, bad("Patience", "it has no effect without Pool.MaxInFlight: nothing waits")
	}
	if err := checkTraffic(c.Arrivals, c.Work); err != nil {
		return c, err
	}
	if c.Keys != nil {
		if err := c.Keys.check(); err != nil {
			return c, err
		}
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Dispatchers == 0 {
		c.Dispatchers = 1
	}
	if c.Unit == 0 {
		c.Unit = time.Second
	}
	if c.Horizon == 0 {
		c.Horizon = math.Inf(1)
	}
	return c, nil
}

// checkTraffic checks the kinds of Arrivals and Work that have no constructor to
// do so.
func checkTraffic(arrivals Arrivals, work Work) error {
	positive := func(values ...float64) bool {
		for _, v := range values {
			if !(v > 0) || !finite(v) {
				return false
			}
		}
		return true
	}
	switch a := arrivals.(type) {
	case Poisson:
		if !positive(float64(a)) {
			return bad("Arrivals", "a rate of %v is not a positive number", float64(a))
		}
	case Bursty:
		if !positive(a.Rate, a.On, a.Off) {
			return bad("Arrivals", "%+v is not all positive numbers", a)
		}
	}
	switch w := work.(type) {
	case Constant:
		if !finite(float64(w)) || w < 0 {
			return bad("Work", "%v is no amount of work", float64(w))
		}
	case Lognormal:
		if !(w >= 0 && w <= 5) {
			return bad("Work", "a sigma of %v is not within 0 to 5", float64(w))
		}
	case Pareto:
		if !(w > 1) || !finite(float64(w)) {
			return bad("Work", "an exponent of %v is not above 1", float64(w))
		}
	}
	return nil
}
