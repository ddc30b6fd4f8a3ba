package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// fleet is a fleet as the flags of own describe it.
type fleet struct {
	servers, concurrency, dispatchers, clients int
	speeds, weights, failing, changes          string
	rho, rate, think, rtt, failWork            float64
	work, arrivals, trace, view, policies, by  string
	ejection, slowStart                        bool
	limit, backlog                             int
	patience, warmup, horizon, unit            float64
	tick                                       time.Duration

	given map[string]bool // the names of the flags on the command line
}

const ownUsage = `lab own [flags]

Times are in units of the time in which a server of speed 1 does a request of mean
work; with -trace they are in milliseconds.

A trace is one request a line, in any order: when it arrived and how long a server
of speed 1 works on it. It is a CSV file with the columns time and duration (others
are passed over; without a head the first two columns are these), or one JSON object
a line with the keys "time" and "duration". A time is a number of seconds or a date
as in RFC 3339, a duration a number of seconds or as in "12.5ms". The durations
should not contain the time in which a request waited for its turn.

Flags:`

func (o *fleet) register(f *flag.FlagSet) {
	f.IntVar(&o.servers, "servers", 10, "number of servers")
	f.StringVar(&o.speeds, "speeds", "1", "speed of each server: 1x28,0.5,0.2 is 28 of speed 1, one of 0.5 and one of 0.2; a single number is for all")
	f.IntVar(&o.concurrency, "concurrency", 1, "requests each server does at once, each of them at the server's speed")
	f.Float64Var(&o.rho, "rho", 0, "utilization: arrivals as a share of what all servers can do (0.8 if none of -rate, -clients, -trace and an arrivals file is given)")
	f.Float64Var(&o.rate, "rate", 0, "arrivals a unit of time, in place of -rho")
	f.IntVar(&o.clients, "clients", 0, "closed loop: this many clients, each of which waits for its answer, in place of -rho")
	f.Float64Var(&o.think, "think", 0, "mean time a client takes before its next request")
	f.StringVar(&o.arrivals, "arrivals", "poisson", "poisson, bursty:ON,OFF (mean times on and off) or file:NAME (one time a line)")
	f.StringVar(&o.work, "work", "exponential", "work of a request: exponential, constant, lognormal:SIGMA, pareto:ALPHA or file:NAME (one duration a line)")
	f.StringVar(&o.trace, "trace", "", "take arrivals and work from the recorded requests in this `file`")
	f.Float64Var(&o.unit, "unit", 0, "what is one unit of time in the files of -arrivals and -work (0: the mean of the durations, or 1)")
	f.IntVar(&o.dispatchers, "dispatchers", 1, "number of balancers, each of which counts its own requests")
	f.StringVar(&o.view, "view", "own", "what balancers see: own (their own counts), stale:T (queue lengths read every T) or work (the work left)")
	f.Float64Var(&o.rtt, "rtt", 0, "network delay to a server and back")
	f.StringVar(&o.weights, "weights", "", "weight of each server in the pools, written as -speeds is")
	f.StringVar(&o.changes, "changes", "", "changes of speed, as TIME:SERVER=SPEED,...")
	f.StringVar(&o.failing, "failing", "", "share of each server's requests that fail, written as -speeds is")
	f.Float64Var(&o.failWork, "failwork", 0, "share of its work that a failing request takes (0: fails at once)")
	f.BoolVar(&o.ejection, "ejection", false, "eject servers by how their requests end")
	f.BoolVar(&o.slowStart, "slowstart", false, "slow start for servers that are back from an ejection")
	f.DurationVar(&o.tick, "tick", 10*time.Millisecond, "what one unit of time is on the clock of ejection and slow start: the mean duration of a request (with -trace always 1ms)")
	f.IntVar(&o.limit, "limit", 0, "most requests in flight on a server, for each balancer (0: no limit)")
	f.IntVar(&o.backlog, "backlog", 0, "requests that may wait where -limit is reached, for each balancer")
	f.Float64Var(&o.patience, "patience", 0, "how long a request waits in the backlog before it gives up (0: for ever)")
	f.StringVar(&o.policies, "policies", "all", "policies to compare, of "+strings.Join(shippedPolicies(), ","))
	f.StringVar(&o.by, "by", "p99", "what is compared: mean, p50, p99 or p999")
	f.Float64Var(&o.horizon, "horizon", 0, "length of a run (0: enough for 200,000 requests, or the whole trace)")
	f.Float64Var(&o.warmup, "warmup", -1, "beginning of a run that is not counted (-1: a fifth of it)")
}

// parseFleet reads the flags of own, and those of s that stand among them.
func parseFleet(s *settings, args []string, stderr io.Writer) (*fleet, error) {
	o := &fleet{given: map[string]bool{}}
	f := flag.NewFlagSet("own", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	outer := *s
	s.register(f)
	*s = outer // what stood before own counts too
	o.register(f)
	if err := f.Parse(args); err != nil {
		return nil, parseError(f, err, stderr, ownUsage)
	}
	if f.NArg() > 0 {
		return nil, usageError{fmt.Errorf("own: %q is no flag", f.Arg(0))}
	}
	f.Visit(func(g *flag.Flag) { o.given[g.Name] = true })
	if err := s.verify(); err != nil {
		return nil, err
	}
	return o, o.verifyNumbers()
}

// figures are what -by can name.
var figures = map[string]func(*sim.Result) float64{"mean": mean, "p50": p50, "p99": p99, "p999": p999}

// verifyNumbers checks the flags that stand for themselves.
func (o *fleet) verifyNumbers() error {
	for _, c := range []struct {
		name string
		v    float64
	}{
		{"rho", o.rho}, {"rate", o.rate}, {"think", o.think}, {"rtt", o.rtt}, {"failwork", o.failWork}, {"patience", o.patience},
		{"horizon", o.horizon}, {"unit", o.unit}, {"limit", float64(o.limit)}, {"backlog", float64(o.backlog)}, {"clients", float64(o.clients)},
	} {
		if c.v < 0 || math.IsNaN(c.v) || math.IsInf(c.v, 0) {
			return badFlag(c.name, "%v is not a number of 0 or more", c.v)
		}
	}
	for _, c := range []struct {
		name string
		v    int
		most int
	}{{"servers", o.servers, 100_000}, {"concurrency", o.concurrency, 10_000}, {"dispatchers", o.dispatchers, 10_000}} {
		if c.v < 1 || c.v > c.most {
			return badFlag(c.name, "%d is not within 1 to %d", c.v, c.most)
		}
	}
	switch {
	case figures[o.by] == nil:
		return badFlag("by", "%q is none of mean, p50, p99 and p999", o.by)
	case o.tick <= 0:
		return badFlag("tick", "%v is not a length of time", o.tick)
	case o.backlog > 0 && o.limit == 0:
		return badFlag("backlog", "it has no effect without -limit: nothing waits")
	case o.patience > 0 && o.backlog == 0:
		return badFlag("patience", "it has no effect without -backlog: nothing waits")
	case o.slowStart && !o.ejection:
		return badFlag("slowstart", "it has no effect without -ejection: no server comes back")
	case o.think > 0 && o.clients == 0:
		return badFlag("think", "it has no effect without -clients")
	}
	return nil
}

// config is the fleet as a simulation, without its policy.
func (o *fleet) config() (sim.Config, error) {
	cfg := sim.Config{
		Servers: o.servers, Workers: o.concurrency, Dispatchers: o.dispatchers, Clients: o.clients, Think: o.think, RTT: o.rtt,
		FailWork: o.failWork, Patience: o.patience, Unit: o.tick, Pool: sim.Plain(),
	}
	cfg.Pool.Ejection.Off, cfg.Pool.SlowStart.Off = !o.ejection, !o.slowStart
	cfg.Pool.MaxInFlight, cfg.Pool.Backlog = o.limit, o.backlog
	for _, set := range []func(*sim.Config) error{o.setServers, o.setView, o.setTraffic, o.setLength} {
		if err := set(&cfg); err != nil {
			return sim.Config{}, err
		}
	}
	return cfg, nil
}

// setServers sets what the servers are like.
func (o *fleet) setServers(cfg *sim.Config) error {
	for _, c := range []struct {
		name, text string
		to         *[]float64
	}{{"speeds", o.speeds, &cfg.Speeds}, {"weights", o.weights, &cfg.Weights}, {"failing", o.failing, &cfg.Failing}} {
		if c.text == "" {
			continue
		}
		var err error
		if *c.to, err = parseList(c.text, o.servers); err != nil {
			return badFlag(c.name, "%v", err)
		}
	}
	for i, v := range cfg.Failing {
		if v > 1 {
			return badFlag("failing", "server %d has %v, but a share is at most 1", i, v)
		}
	}
	var err error
	if cfg.Changes, err = o.parseChanges(cfg.Failing); err != nil {
		return badFlag("changes", "%v", err)
	}
	return nil
}

// parseChanges reads TIME:SERVER=SPEED,...
func (o *fleet) parseChanges(failing []float64) ([]sim.Change, error) {
	if o.changes == "" {
		return nil, nil
	}
	var list []sim.Change
	for _, item := range strings.Split(o.changes, ",") {
		at, rest, ok1 := strings.Cut(item, ":")
		server, speed, ok2 := strings.Cut(rest, "=")
		c := sim.Change{}
		var err1, err2, err3 error
		c.At, err1 = strconv.ParseFloat(at, 64)
		c.Server, err2 = strconv.Atoi(server)
		c.Speed, err3 = strconv.ParseFloat(speed, 64)
		if !ok1 || !ok2 || errors.Join(err1, err2, err3) != nil || !(c.At >= 0 && c.Speed >= 0) || math.IsInf(c.At+c.Speed, 0) {
			return nil, fmt.Errorf("%q is not TIME:SERVER=SPEED, as in 500:3=0.2", item)
		}
		if c.Server < 0 || c.Server >= o.servers {
			return nil, fmt.Errorf("%q: there is no server %d among 0 to %d", item, c.Server, o.servers-1)
		}
		if failing != nil {
			c.Failing = failing[c.Server]
		}
		list = append(list, c)
	}
	return list, nil
}

func (o *fleet) setView(cfg *sim.Config) error {
	name, arg, _ := strings.Cut(o.view, ":")
	switch {
	case o.view == "own":
	case o.view == "work":
		cfg.Signal = sim.WorkLeft
	case name == "stale":
		v, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return badFlag("view", "%q needs the time between two readings, as in stale:2", o.view)
		}
		cfg.Signal, cfg.Refresh = sim.Board, v
	default:
		return badFlag("view", "%q is none of own, stale:T and work", o.view)
	}
	return nil
}

func (o *fleet) chosen() ([]string, error) {
	var names []string
	if o.policies == "all" {
		for _, name := range shippedPolicies() {
			if !sameAsSQF(name, o.servers) {
				names = append(names, name)
			}
		}
		return names, nil
	}
	for _, name := range strings.Split(o.policies, ",") {
		name = strings.TrimSpace(name)
		switch {
		case !slices.Contains(shippedPolicies(), name):
			return nil, badFlag("policies", "%q is no policy; there are %s, and all", name, strings.Join(shippedPolicies(), ", "))
		case slices.Contains(names, name):
			return nil, badFlag("policies", "%s stands twice", name)
		}
		names = append(names, name)
	}
	return names, nil
}
