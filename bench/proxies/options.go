package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// options are what the command line says.
type options struct {
	steps    []string
	products []string
	requests []int // of step slow
	many     int   // of step capacity
	speed    float64
	clients  int
	repeat   int
	abreast  int
	json     bool
	check    bool
	short    bool
	doc      string
	note     string
}

const usage = `Usage: proxies [flags] [STEP...]

Proxies sends the same requests through nginx, HAProxy, lighttpd and evenkeel, in
front of servers on loopback that serve one request at a time, and compares. A proxy
that is not installed is left out.

Steps (none: both):
  slow      four servers, three of 50 ms and one of 200 ms: who sends it how much
  capacity  two servers, whose speeds are as 2,834 to 1,249: what both make together

Flags:
`

// The numbers of a short run, for CI.
const (
	shortRequests = 120
	shortMany     = 1000
	shortRepeat   = 3
)

// parse reads the command line. Help goes to out; whatever is wrong is one sentence.
func parse(args []string, out io.Writer) (options, error) {
	var opt options
	var requests, names string
	f := flag.NewFlagSet("proxies", flag.ContinueOnError)
	f.StringVar(&requests, "requests", "200,5000", "requests of step slow; each `number` is a table of its own")
	f.IntVar(&opt.many, "capacity-requests", 5000, "requests of step capacity")
	f.Float64Var(&opt.speed, "speed", 0.1, "of the servers of step capacity; 1: as published, which needs a machine with nothing else to do")
	f.IntVar(&opt.clients, "clients", 16, "clients, each of which has one request open at a time")
	f.IntVar(&opt.repeat, "repeat", 3, "runs of everything; the tables show the medians")
	f.StringVar(&names, "products", strings.Join(productNames(), ","), "the proxies (`NAME,NAME,...`) to run beside evenkeel; empty: none")
	f.IntVar(&opt.abreast, "abreast", 0, "rows of step slow that run at the same time, each before servers of its own (0: all)")
	f.BoolVar(&opt.short, "short", false, fmt.Sprintf("a run of a minute: -requests %d -capacity-requests %d -repeat %d", shortRequests, shortMany, shortRepeat))
	f.BoolVar(&opt.check, "check", false, "fail if a row is not as expected, or evenkeel is not among the best")
	f.BoolVar(&opt.json, "json", false, "print one JSON object with all runs instead of tables")
	f.StringVar(&opt.doc, "doc", "", "also write the tables to this `file`, as Markdown")
	f.StringVar(&opt.note, "note", "", "a sentence about the machine, for the tables (`text`)")
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(out, usage)
			f.SetOutput(out)
			f.PrintDefaults()
			return opt, err
		}
		return opt, fmt.Errorf("%w; -h lists the flags", err)
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if opt.short {
		for _, name := range []string{"requests", "capacity-requests", "repeat"} {
			if given[name] {
				return opt, fmt.Errorf("-short sets -%s itself; give one of the two", name)
			}
		}
		requests, opt.many, opt.repeat = strconv.Itoa(shortRequests), shortMany, shortRepeat
	}
	return opt, errors.Join(opt.setSteps(f.Args()), opt.setProducts(names), opt.setNumbers(requests))
}

func productNames() []string {
	var names []string
	for _, p := range products {
		names = append(names, p.name)
	}
	return names
}

func (opt *options) setSteps(args []string) error {
	steps := []string{stepSlow, stepCapacity}
	for _, step := range args {
		if !slices.Contains(steps, step) {
			if strings.HasPrefix(step, "-") {
				return fmt.Errorf("%s comes after a step; flags come first", step)
			}
			return fmt.Errorf("%q is no step; there are %s", step, strings.Join(steps, " and "))
		}
		if slices.Contains(opt.steps, step) {
			return fmt.Errorf("step %s is named twice", step)
		}
		opt.steps = append(opt.steps, step)
	}
	if opt.steps == nil {
		opt.steps = steps
	}
	return nil
}

func (opt *options) setProducts(list string) error {
	for _, name := range fields(list) {
		if !slices.Contains(productNames(), name) {
			return fmt.Errorf("-products: there is no %q; choose among %s", name, strings.Join(productNames(), ", "))
		}
		if slices.Contains(opt.products, name) {
			return fmt.Errorf("-products names %s twice", name)
		}
		opt.products = append(opt.products, name)
	}
	if opt.check && opt.products == nil {
		return errors.New("-check compares evenkeel with proxies; -products names none")
	}
	return nil
}

func (opt *options) setNumbers(requests string) error {
	within := func(flag string, value, least, most int) error {
		if value < least || value > most {
			return fmt.Errorf("%s is %d; it must be from %d to %d", flag, value, least, most)
		}
		return nil
	}
	for _, field := range fields(requests) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("-requests: %q is not a number", field)
		}
		if slices.Contains(opt.requests, n) {
			return fmt.Errorf("-requests names %d twice", n)
		}
		if err := within("-requests", n, 1, 1_000_000); err != nil {
			return err
		}
		opt.requests = append(opt.requests, n)
	}
	if opt.requests == nil {
		return errors.New("-requests names no number")
	}
	if !(opt.speed >= 0.01 && opt.speed <= 1) {
		return fmt.Errorf("-speed is %v; it must be from 0.01 to 1", opt.speed)
	}
	for _, err := range []error{
		within("-capacity-requests", opt.many, 1, 10_000_000),
		within("-clients", opt.clients, 1, 512),
		within("-repeat", opt.repeat, 1, 100),
		within("-abreast", opt.abreast, 0, 100),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// fields are the parts of a list with commas.
func fields(list string) []string {
	var parts []string
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
