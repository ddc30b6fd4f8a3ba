package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// fleet is a fleet as the flags of own describe it.
type fleet struct {
	servers, workers, dispatchers, clients int
	speeds, weights, failing, changes      string
	rho, rate, think, rtt, failWork        float64
	work, arrivals, view, policies, by     string
	ejection, slowStart                    bool
	limit, backlog                         int
	patience, warmup, horizon, unit        float64
	tick                                   time.Duration
}

func (o *fleet) register(f *flag.FlagSet) {
	f.IntVar(&o.servers, "servers", 10, "number of servers")
	f.StringVar(&o.speeds, "speeds", "1", "speed of each server: 1x28,0.5,0.2 is 28 of speed 1, one of 0.5 and one of 0.2; a single number is for all")
	f.IntVar(&o.workers, "workers", 1, "requests each server works on at once")
	f.Float64Var(&o.rho, "rho", 0, "utilization: arrivals as a share of what all servers can do (0.8 if neither -rate nor -clients nor an arrivals file is given)")
	f.Float64Var(&o.rate, "rate", 0, "arrivals a unit of time, in place of -rho")
	f.IntVar(&o.clients, "clients", 0, "closed loop: this many clients, each of which waits for its answer, in place of -rho")
	f.Float64Var(&o.think, "think", 0, "mean time a client takes before its next request")
	f.StringVar(&o.arrivals, "arrivals", "poisson", "poisson, bursty:ON,OFF (mean times on and off) or file:NAME (one time a line)")
	f.StringVar(&o.work, "work", "exponential", "work of a request: exponential, constant, lognormal:SIGMA, pareto:ALPHA or file:NAME (one duration a line)")
	f.Float64Var(&o.unit, "unit", 0, "what is one unit of time in the files (0: the mean of the durations, or 1)")
	f.IntVar(&o.dispatchers, "dispatchers", 1, "number of balancers, each of which counts its own requests")
	f.StringVar(&o.view, "view", "own", "what balancers see: own (their own counts), stale:T (queue lengths read every T) or work (the work left)")
	f.Float64Var(&o.rtt, "rtt", 0, "network delay to a server and back")
	f.StringVar(&o.weights, "weights", "", "weight of each server in the pools, written as -speeds is")
	f.StringVar(&o.changes, "changes", "", "changes of speed, as TIME:SERVER=SPEED,...")
	f.StringVar(&o.failing, "failing", "", "share of each server's requests that fail, written as -speeds is")
	f.Float64Var(&o.failWork, "failwork", 0, "share of its work that a failing request takes (0: fails at once)")
	f.BoolVar(&o.ejection, "ejection", false, "eject servers by how their requests end")
	f.BoolVar(&o.slowStart, "slowstart", false, "slow start for servers that are back from an ejection")
	f.DurationVar(&o.tick, "tick", time.Second, "what one unit of time is on the clock of ejection and slow start")
	f.IntVar(&o.limit, "limit", 0, "most requests in flight on a server, for each balancer (0: no limit)")
	f.IntVar(&o.backlog, "backlog", 0, "requests that may wait where -limit is reached, for each balancer")
	f.Float64Var(&o.patience, "patience", 0, "how long a request waits in the backlog before it gives up (0: for ever)")
	f.StringVar(&o.policies, "policies", "all", "policies to compare, of "+strings.Join(shippedPolicies(), ","))
	f.StringVar(&o.by, "by", "p99", "what is compared: mean, p50, p99 or p999")
	f.Float64Var(&o.horizon, "horizon", 0, "length of a run (0: enough for 200,000 requests)")
	f.Float64Var(&o.warmup, "warmup", -1, "beginning of a run that is not counted (-1: a fifth of it)")
}

// figures are what -by can name.
var figures = map[string]func(*sim.Result) float64{"mean": mean, "p50": p50, "p99": p99, "p999": p999}

// config is the fleet as a simulation, without its policy.
func (o *fleet) config(given map[string]bool) (sim.Config, error) {
	var none sim.Config
	positive := func(name string, v float64) error {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return badFlag(name, "%v is not a number of 0 or more", v)
		}
		return nil
	}
	for _, c := range []struct {
		name string
		v    float64
	}{
		{"rho", o.rho}, {"rate", o.rate}, {"think", o.think}, {"rtt", o.rtt}, {"failwork", o.failWork}, {"patience", o.patience},
		{"horizon", o.horizon}, {"unit", o.unit}, {"limit", float64(o.limit)}, {"backlog", float64(o.backlog)}, {"clients", float64(o.clients)},
	} {
		if err := positive(c.name, c.v); err != nil {
			return none, err
		}
	}
	for _, c := range []struct {
		name string
		v    int
		most int
	}{{"servers", o.servers, 100_000}, {"workers", o.workers, 10_000}, {"dispatchers", o.dispatchers, 10_000}} {
		if c.v < 1 || c.v > c.most {
			return none, badFlag(c.name, "%d is not within 1 to %d", c.v, c.most)
		}
	}
	if figures[o.by] == nil {
		return none, badFlag("by", "%q is none of mean, p50, p99 and p999", o.by)
	}
	if o.tick <= 0 {
		return none, badFlag("tick", "%v is not a length of time", o.tick)
	}
	cfg := sim.Config{
		Servers: o.servers, Workers: o.workers, Dispatchers: o.dispatchers, Clients: o.clients, Think: o.think, RTT: o.rtt,
		FailWork: o.failWork, Patience: o.patience, Unit: o.tick, Pool: sim.Plain(),
	}
	var err error
	for _, c := range []struct {
		name, text string
		to         *[]float64
	}{{"speeds", o.speeds, &cfg.Speeds}, {"weights", o.weights, &cfg.Weights}, {"failing", o.failing, &cfg.Failing}} {
		if c.text == "" {
			continue
		}
		if *c.to, err = parseList(c.text, o.servers); err != nil {
			return none, badFlag(c.name, "%v", err)
		}
	}
	for i, v := range cfg.Failing {
		if v > 1 {
			return none, badFlag("failing", "server %d has %v, but a share is at most 1", i, v)
		}
	}
	if cfg.Changes, err = o.parseChanges(cfg.Failing); err != nil {
		return none, badFlag("changes", "%v", err)
	}
	cfg.Pool.Ejection.Off, cfg.Pool.SlowStart.Off = !o.ejection, !o.slowStart
	cfg.Pool.MaxInFlight, cfg.Pool.Backlog = o.limit, o.backlog
	switch {
	case o.backlog > 0 && o.limit == 0:
		return none, badFlag("backlog", "it has no effect without -limit: nothing waits")
	case o.patience > 0 && o.backlog == 0:
		return none, badFlag("patience", "it has no effect without -backlog: nothing waits")
	case o.limit > 0 && o.ejection:
		return none, badFlag("ejection", "it cannot be simulated together with -limit")
	case o.slowStart && !o.ejection:
		return none, badFlag("slowstart", "it has no effect without -ejection: no server comes back")
	}
	if err := o.setView(&cfg); err != nil {
		return none, err
	}
	unit := cmp.Or(o.unit, 1)
	if name, ok := strings.CutPrefix(o.work, "file:"); ok {
		durations, err := readNumbers(name)
		if err != nil {
			return none, badFlag("work", "%v", err)
		}
		if o.unit == 0 {
			unit = sample(durations).mean()
		}
		if cfg.Work, err = sim.NewMeasured(durations, unit); err != nil {
			return none, badFlag("work", "%s: %v", name, err)
		}
	} else if cfg.Work, err = parseWork(o.work); err != nil {
		return none, badFlag("work", "%v", err)
	}
	if err := o.setArrivals(&cfg, given, unit); err != nil {
		return none, err
	}
	return cfg, nil
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

// capacity is the number of requests all servers can finish in a unit of time.
func capacity(cfg sim.Config) float64 {
	sum := 0.0
	for _, s := range cfg.Speeds {
		sum += s
	}
	return sum * float64(cfg.Workers) / cfg.Work.Mean()
}

// setArrivals sets how requests arrive, and how long a run is.
func (o *fleet) setArrivals(cfg *sim.Config, given map[string]bool, unit float64) error {
	full := capacity(*cfg)
	if full == 0 {
		return badFlag("speeds", "all servers stand still")
	}
	rate := o.rate
	var trace *sim.Trace
	if name, ok := strings.CutPrefix(o.arrivals, "file:"); ok {
		times, err := readNumbers(name)
		if err != nil {
			return badFlag("arrivals", "%v", err)
		}
		if trace, err = sim.NewTrace(times, unit); err != nil {
			return badFlag("arrivals", "%s: %v", name, err)
		}
		rate = trace.Rate()
	}
	var ways []string
	for _, w := range []struct {
		name string
		used bool
	}{{"rho", given["rho"]}, {"rate", given["rate"]}, {"clients", o.clients > 0}, {"arrivals", trace != nil}} {
		if w.used {
			ways = append(ways, w.name)
		}
	}
	if len(ways) > 1 {
		return badFlag(ways[1], "it says how much traffic there is, and so does -%s: leave one out", ways[0])
	}
	switch {
	case len(ways) == 0:
		rate = 0.8 * full
	case given["rho"]:
		rate = o.rho * full
	case o.clients > 0:
		// For the length of a run: what the clients can ask for, at most all.
		rate = min(full, float64(o.clients)/(cfg.Work.Mean()+o.think+o.rtt))
	}
	if rate <= 0 {
		return badFlag(cmp.Or(append(ways, "rho")[0], "rho"), "nothing arrives")
	}
	if o.think > 0 && o.clients == 0 {
		return badFlag("think", "it has no effect without -clients")
	}
	if o.clients == 0 && rate >= full && o.limit == 0 && trace == nil {
		return badFlag(append(ways, "rho")[0], "%.4g arrivals a unit of time are more than the %.4g that all servers can finish: queues would grow for ever (-limit would shed)", rate, full)
	}
	cfg.Horizon = o.horizon
	switch {
	case cfg.Horizon == 0 && trace != nil:
		cfg.Horizon = trace.Length()
	case cfg.Horizon == 0:
		cfg.Horizon = min(max(250_000/rate, 200), 1e6)
	}
	cfg.Warmup = o.warmup
	if o.warmup == -1 {
		cfg.Warmup = cfg.Horizon / 5
	}
	if !(cfg.Warmup >= 0 && cfg.Warmup < cfg.Horizon) {
		return badFlag("warmup", "%v is not within 0 and the horizon, %.4g", o.warmup, cfg.Horizon)
	}
	if o.clients > 0 {
		if o.arrivals != "poisson" {
			return badFlag("arrivals", "clients that wait for their answers (-clients) make their own")
		}
		return nil
	}
	name, arg, _ := strings.Cut(o.arrivals, ":")
	switch {
	case trace != nil:
		cfg.Arrivals = trace
	case o.arrivals == "poisson":
		cfg.Arrivals = sim.Poisson(rate)
	case name == "bursty":
		on, off, ok := strings.Cut(arg, ",")
		b := sim.Bursty{Rate: rate}
		var err1, err2 error
		b.On, err1 = strconv.ParseFloat(on, 64)
		b.Off, err2 = strconv.ParseFloat(off, 64)
		if !ok || err1 != nil || err2 != nil || !(b.On > 0 && b.Off > 0) || math.IsInf(b.On+b.Off, 0) {
			return badFlag("arrivals", "%q needs the mean times on and off, as in bursty:5,20", o.arrivals)
		}
		cfg.Arrivals = b
	default:
		return badFlag("arrivals", "%q is none of poisson, bursty:ON,OFF and file:NAME", o.arrivals)
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

// readNumbers reads one number a line; empty lines and lines that begin with #
// are passed over.
func readNumbers(name string) ([]float64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []float64
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		text := strings.TrimSpace(s.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %q is not a number", name, n, text)
		}
		list = append(list, v)
	}
	if s.Err() != nil {
		return nil, s.Err()
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no number", name)
	}
	return list, nil
}

func (o *fleet) chosen() ([]string, error) {
	if o.policies == "all" {
		return shippedPolicies(), nil
	}
	var names []string
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

// runOwn compares the policies on the fleet that the flags describe.
func runOwn(ctx context.Context, s *settings, args []string, stdout io.Writer, stderr *os.File) error {
	o := &fleet{}
	f := flag.NewFlagSet("own", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	outer := *s
	s.register(f)
	*s = outer // what stood before own counts too
	o.register(f)
	if err := f.Parse(args); err != nil {
		return parseError(f, err, stderr, "lab own [flags]\n\nTimes are in units of the mean work of one request on a worker of speed 1.\n\nFlags:")
	}
	if f.NArg() > 0 {
		return usageError{fmt.Errorf("own: %q is no flag", f.Arg(0))}
	}
	if err := s.verify(); err != nil {
		return err
	}
	given := map[string]bool{}
	f.Visit(func(g *flag.Flag) { given[g.Name] = true })
	cfg, err := o.config(given)
	if err != nil {
		return err
	}
	names, err := o.chosen()
	if err != nil {
		return err
	}

	e := newEngine(ctx, s.parallel, s.seeds)
	p := startProgress(e, stderr)
	defer p.end()
	p.waitFor("own")
	all := make([]*runs, len(names))
	for i, name := range names {
		c := cfg
		if c.Policy, err = policyByName(name); err != nil {
			return err
		}
		all[i] = e.simulateConfig(c, s.seeds)
	}
	var ranked []contender
	var failed error
	for i, name := range names {
		if err := all[i].wait(ctx); err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
			if ctx.Err() != nil {
				p.note("interrupted after %s: %d of %d policies were done", p.elapsed(), i, len(names))
			}
			break
		}
		ranked = append(ranked, contender{name: name, runs: all[i]})
	}
	if len(ranked) > 0 {
		p.clear()
		t := o.rank(cfg, ranked, s.seeds)
		if err := s.printer(stdout).print(t); err != nil {
			return err
		}
		if err := s.write([]*table{t}); err != nil {
			return err
		}
	}
	return failed
}

// contender is one policy on the fleet.
type contender struct {
	name string
	*runs
	lost float64 // share of the requests that were not answered well
}

func lost(r *sim.Result) float64 {
	bad := float64(r.Failed + r.Refused + r.GaveUp + r.Stranded)
	return bad / (bad + float64(r.Requests))
}

// interval is half the width of the confidence interval of the mean of s.
func (s sample) interval(confidence float64) float64 {
	if len(s) < 2 {
		return math.Inf(1)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(s) - 1)}
	return t.Quantile(1-(1-confidence)/2) * s.sd() / math.Sqrt(float64(len(s)))
}

// minus is the difference seed by seed: the policies faced the same requests, so
// most of the noise is taken away.
func (s sample) minus(other sample) sample {
	d := make(sample, len(s))
	for i := range s {
		d[i] = s[i] - other[i]
	}
	return d
}

// rank makes the table: fewest lost requests first, then by -by.
func (o *fleet) rank(cfg sim.Config, ranked []contender, seeds int) *table {
	by := figures[o.by]
	anyLost := false
	for i := range ranked {
		ranked[i].lost = ranked[i].sample(lost).mean()
		anyLost = anyLost || ranked[i].lost > 0
	}
	slices.SortStableFunc(ranked, func(a, b contender) int {
		if c := cmp.Compare(math.Round(a.lost*1000), math.Round(b.lost*1000)); c != 0 {
			return c
		}
		return cmp.Compare(a.sample(by).mean(), b.sample(by).mean())
	})
	t := &table{step: "own", title: o.describe(cfg, seeds), label: "policy"}
	best := ranked[0].sample(by)
	// One interval for each comparison with the best, 95 % for all together.
	confidence := 1 - 0.05/float64(max(len(ranked)-1, 1))
	noise := make([]bool, len(ranked))
	for i, c := range ranked {
		m := c.sample(by)
		r := row{label: c.name, policy: c.name, inputs: o.inputs(cfg), runs: c.runs, measures: []measure{
			shown("mean", c.sample(mean).mean(), 3), shown("±", c.sample(mean).interval(0.95), 3),
			shown("p50", c.sample(p50).mean(), 3),
			shown("p99", c.sample(p99).mean(), 2), shown("± ", c.sample(p99).interval(0.95), 2),
			shown("p99.9", c.sample(p999).mean(), 2),
			shown("fullest queue", c.sample(peak).firstMax(seeds), 0),
		}}
		if anyLost {
			r.measures = append(r.measures, shown("not answered", c.lost, 2).asPercent())
		}
		if i == 0 {
			r.text = "best"
		} else {
			d := m.minus(best)
			half := d.interval(confidence)
			noise[i] = math.Abs(d.mean()) <= half
			low, mid, high := (d.mean()-half)/best.mean(), d.mean()/best.mean(), (d.mean()+half)/best.mean()
			if mid < 9 {
				r.text = fmt.Sprintf("%s %+.1f%% (%+.1f to %+.1f)", o.by, mid*100, low*100, high*100)
			} else {
				r.text = fmt.Sprintf("%s %.0f times the best (%.0f to %.0f)", o.by, 1+mid, 1+low, 1+high)
			}
			if noise[i] {
				r.text += ", could be noise"
			}
		}
		t.rows = append(t.rows, r)
	}
	if len(ranked) > 1 {
		t.notes = append(t.notes, fmt.Sprintf("differences are to the best, by %s, over the same requests; intervals hold together with 95 %% confidence", o.by))
	}
	t.notes = append(t.notes, o.advice(cfg, ranked, noise))
	f := figure{name: "own", title: "Your fleet: who waits how long", x: "time in system", y: "share of requests that take longer", logY: true}
	for _, c := range ranked {
		f.curves = append(f.curves, slowerThan(c.name, c.runs, 4))
	}
	t.plots = []figure{f}
	return t
}

// flat are the policies that take every server for as good as the others.
func flat(policy string) bool { return policy == "random" || policy == "roundrobin" }

// overloaded returns a server that a policy which shares evenly drowns, or -1.
func (o *fleet) overloaded(cfg sim.Config) int {
	p, open := cfg.Arrivals.(sim.Poisson)
	if !open || o.limit > 0 {
		return -1
	}
	weights := 0.0
	for i := range cfg.Speeds {
		weights += weightOf(cfg, i)
	}
	for i, s := range cfg.Speeds {
		if float64(p)*weightOf(cfg, i)/weights*cfg.Work.Mean() >= s*float64(cfg.Workers) && weightOf(cfg, i) > 0 {
			return i
		}
	}
	return -1
}

func weightOf(cfg sim.Config, i int) float64 {
	if cfg.Weights == nil {
		return 1
	}
	return cfg.Weights[i]
}

// advice is one sentence.
func (o *fleet) advice(cfg sim.Config, ranked []contender, noise []bool) string {
	if len(ranked) == 1 {
		return fmt.Sprintf("advice: only %s was tried, so there is nothing to choose.", ranked[0].name)
	}
	by := figures[o.by]
	best := ranked[0]
	value := func(c contender) float64 { return c.sample(by).mean() }
	// Among those that are as good as the best, the one that costs least to pick.
	cheap := []string{"p2c", "p3c", "roundrobin", "random", "sqf"}
	pick := 0
	for i := 1; i < len(ranked); i++ {
		asGood := noise[i] && value(ranked[i]) < 1.02*value(best)
		if asGood && math.Abs(ranked[i].lost-best.lost) < 0.001 && slices.Index(cheap, ranked[i].name) < slices.Index(cheap, ranked[pick].name) {
			pick = i
		}
	}
	take := ranked[pick].name
	if i := o.overloaded(cfg); i >= 0 {
		drowns := fmt.Sprintf("the queue of server %d (of 0 to %d) grows for ever", i, cfg.Servers-1)
		if flat(take) {
			return fmt.Sprintf("advice: none of these suits, since they share evenly and %s.", drowns)
		}
		take += fmt.Sprintf(", and not a policy that shares evenly, under which %s", drowns)
	}
	second := ranked[1]
	var why string
	switch {
	case pick != 0:
		why = fmt.Sprintf("it is as good as %s, which came out first by chance or by next to nothing, and costs less for each pick", best.name)
	case noise[1]:
		why = fmt.Sprintf("whether it is better than %s these %d seeds do not settle (more -seeds would)", second.name, len(best.results))
	case best.lost+0.001 < second.lost:
		why = fmt.Sprintf("it leaves %.2g %% of the requests unanswered, the next, %s, %.2g %%", best.lost*100, second.name, second.lost*100)
	default:
		why = fmt.Sprintf("its %s of %.3g is %.2g %% below that of the next, %s", o.by, value(best), (1-value(best)/value(second))*100, second.name)
	}
	return fmt.Sprintf("advice: take %s; %s.", take, why)
}

// describe is the title of the table.
func (o *fleet) describe(cfg sim.Config, seeds int) string {
	text := fmt.Sprintf("%d servers", o.servers)
	if o.speeds != "1" {
		text += " of speed " + o.speeds
	}
	if o.workers > 1 {
		text += fmt.Sprintf(" with %d workers", o.workers)
	}
	full := capacity(cfg)
	switch a := cfg.Arrivals.(type) {
	case nil:
		text += fmt.Sprintf(", %d clients", o.clients)
	case sim.Poisson:
		text += fmt.Sprintf(", utilization %.3g", float64(a)/full)
	case sim.Bursty:
		text += fmt.Sprintf(", utilization %.3g in bursts", a.Rate/full)
	case *sim.Trace:
		text += fmt.Sprintf(", utilization %.3g by %s", a.Rate()/full, o.arrivals)
	}
	text += ", work " + o.work
	if o.dispatchers > 1 {
		text += fmt.Sprintf(", %d dispatchers", o.dispatchers)
	}
	if o.view != "own" {
		text += ", view " + o.view
	}
	if o.rtt > 0 {
		text += fmt.Sprintf(", rtt %g", o.rtt)
	}
	return fmt.Sprintf("%s, %d seeds", text, seeds)
}

func (o *fleet) inputs(cfg sim.Config) []input {
	in := []input{
		{"servers", o.servers}, {"speeds", o.speeds}, {"workers", o.workers}, {"work", o.work}, {"arrivals", o.arrivals},
		{"dispatchers", o.dispatchers}, {"view", o.view}, {"rtt", o.rtt}, {"horizon", cfg.Horizon}, {"warmup", cfg.Warmup},
	}
	switch a := cfg.Arrivals.(type) {
	case nil:
		in = append(in, input{"clients", o.clients}, input{"think", o.think})
	case sim.Poisson:
		in = append(in, input{"rate", float64(a)})
	case sim.Bursty:
		in = append(in, input{"rate", a.Rate})
	}
	for _, s := range []struct {
		name, text string
	}{{"weights", o.weights}, {"changes", o.changes}, {"failing", o.failing}} {
		if s.text != "" {
			in = append(in, input{s.name, s.text})
		}
	}
	if o.limit > 0 {
		in = append(in, input{"limit", o.limit}, input{"backlog", o.backlog}, input{"patience", o.patience})
	}
	if o.ejection {
		in = append(in, input{"ejection", true}, input{"slowstart", o.slowStart})
	}
	return in
}
