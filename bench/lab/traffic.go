package main

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// capacity is the number of requests all servers can finish in a unit of time.
func capacity(cfg *sim.Config) float64 {
	sum := 0.0
	for _, s := range cfg.Speeds {
		sum += s
	}
	return sum * float64(cfg.Workers) / cfg.Work.Mean()
}

// arrivalRate is the mean number of arrivals a unit of time; open is false where
// clients wait for their answers.
func arrivalRate(cfg *sim.Config) (rate float64, open bool) {
	switch a := cfg.Arrivals.(type) {
	case sim.Poisson:
		return float64(a), true
	case sim.Bursty:
		return a.Rate, true
	case *sim.Trace:
		return a.Rate(), true
	}
	return 0, false
}

// setTraffic sets what the requests are and how they arrive.
func (o *fleet) setTraffic(cfg *sim.Config) error {
	if err := o.onlyOneRate(); err != nil {
		return err
	}
	if o.trace != "" {
		return o.setTrace(cfg)
	}
	unit, err := o.setWork(cfg)
	if err != nil {
		return err
	}
	full := capacity(cfg)
	if full == 0 {
		return badFlag("speeds", "all servers stand still")
	}
	if o.clients > 0 {
		if o.arrivals != "poisson" {
			return badFlag("arrivals", "clients that wait for their answers (-clients) make their own")
		}
		return nil
	}
	if name, ok := strings.CutPrefix(o.arrivals, "file:"); ok {
		return o.setArrivalsFile(cfg, name, unit)
	}
	rate, flag := 0.8*full, "rho"
	switch {
	case o.given["rho"]:
		rate = o.rho * full
	case o.given["rate"]:
		rate, flag = o.rate, "rate"
	}
	switch {
	case rate == 0:
		return badFlag(flag, "nothing arrives")
	case rate >= full && o.limit == 0:
		return badFlag(flag, "%.4g arrivals a unit of time are more than the %.4g that all servers can finish: queues would grow for ever (-limit would shed)", rate, full)
	}
	cfg.Arrivals, err = parseArrivals(o.arrivals, rate)
	return err
}

// onlyOneRate checks that not two flags say how much traffic there is.
func (o *fleet) onlyOneRate() error {
	first := ""
	for _, w := range []struct {
		name string
		used bool
	}{
		{"trace", o.trace != ""}, {"rho", o.given["rho"]}, {"rate", o.given["rate"]}, {"clients", o.clients > 0},
		{"arrivals", strings.HasPrefix(o.arrivals, "file:") || (o.trace != "" && o.given["arrivals"])},
	} {
		switch {
		case w.used && first != "":
			return badFlag(w.name, "it says how much traffic there is, and so does -%s: leave one out", first)
		case w.used:
			first = w.name
		}
	}
	return nil
}

// setTrace takes the requests from a file. A unit of time is a millisecond.
func (o *fleet) setTrace(cfg *sim.Config) error {
	for _, name := range []string{"work", "unit", "tick"} {
		if o.given[name] {
			return badFlag(name, "it has no effect with -trace, which says it")
		}
	}
	const unit = 0.001 // in seconds
	cfg.Unit = time.Millisecond
	rec, err := readTrace(o.trace)
	if err != nil {
		return badFlag("trace", "%v", err)
	}
	if cfg.Work, err = sim.NewRecorded(rec.durations, unit); err != nil {
		return badFlag("trace", "%s: %v", o.trace, err)
	}
	if cfg.Arrivals, err = sim.NewTrace(rec.times, unit); err != nil {
		return badFlag("trace", "%s: %v", o.trace, err)
	}
	if capacity(cfg) == 0 {
		return badFlag("speeds", "all servers stand still")
	}
	return nil
}

// setWork sets the work of a request, and returns what a unit of time is in files.
func (o *fleet) setWork(cfg *sim.Config) (unit float64, err error) {
	unit = cmp.Or(o.unit, 1)
	name, ok := strings.CutPrefix(o.work, "file:")
	if !ok {
		if cfg.Work, err = parseWork(o.work); err != nil {
			return 0, badFlag("work", "%v", err)
		}
		return unit, nil
	}
	durations, err := readNumbers(name)
	if err != nil {
		return 0, badFlag("work", "%v", err)
	}
	if o.unit == 0 {
		unit = sample(durations).mean()
	}
	if cfg.Work, err = sim.NewMeasured(durations, unit); err != nil {
		return 0, badFlag("work", "%s: %v", name, err)
	}
	return unit, nil
}

func (o *fleet) setArrivalsFile(cfg *sim.Config, name string, unit float64) error {
	times, err := readNumbers(name)
	if err != nil {
		return badFlag("arrivals", "%v", err)
	}
	if cfg.Arrivals, err = sim.NewTrace(times, unit); err != nil {
		return badFlag("arrivals", "%s: %v", name, err)
	}
	return nil
}

// parseArrivals reads poisson or bursty:ON,OFF.
func parseArrivals(text string, rate float64) (sim.Arrivals, error) {
	if text == "poisson" {
		return sim.Poisson(rate), nil
	}
	arg, bursty := strings.CutPrefix(text, "bursty:")
	if !bursty {
		return nil, badFlag("arrivals", "%q is none of poisson, bursty:ON,OFF and file:NAME", text)
	}
	on, off, ok := strings.Cut(arg, ",")
	b := sim.Bursty{Rate: rate}
	var err1, err2 error
	b.On, err1 = strconv.ParseFloat(on, 64)
	b.Off, err2 = strconv.ParseFloat(off, 64)
	if !ok || err1 != nil || err2 != nil || !(b.On > 0 && b.Off > 0) || math.IsInf(b.On+b.Off, 0) {
		return nil, badFlag("arrivals", "%q needs the mean times on and off, as in bursty:5,20", text)
	}
	return b, nil
}

// setLength sets how long a run is, and how much of it is warm-up.
func (o *fleet) setLength(cfg *sim.Config) error {
	rate, open := arrivalRate(cfg)
	if !open {
		// What the clients can ask for, at most all that the servers can do.
		rate = min(capacity(cfg), float64(o.clients)/(cfg.Work.Mean()+o.think+o.rtt))
	}
	cfg.Horizon = o.horizon
	if cfg.Horizon == 0 {
		cfg.Horizon = min(max(250_000/rate, 200), 1e6)
		if trace, ok := cfg.Arrivals.(*sim.Trace); ok {
			cfg.Horizon = trace.Length()
		}
	}
	cfg.Warmup = o.warmup
	if o.warmup == -1 {
		cfg.Warmup = cfg.Horizon / 5
	}
	if !(cfg.Warmup >= 0 && cfg.Warmup < cfg.Horizon) {
		return badFlag("warmup", "%v is not within 0 and the horizon, %.4g", o.warmup, cfg.Horizon)
	}
	return nil
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
