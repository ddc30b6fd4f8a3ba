package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"
)

// options are what the flags say.
type options struct {
	urls       []string // the user's own servers; nil: start some
	policies   []string
	requests   int
	workers    int
	servers    int
	fast, slow time.Duration
	timeout    time.Duration
	seed       uint64
}

// parse reads the flags. Help goes to out; whatever is wrong is one sentence.
func parse(args []string, out io.Writer) (options, error) {
	var opt options
	var urls, policies string
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.StringVar(&urls, "url", "", "call these servers (`URL,URL,...`) instead of starting some on loopback")
	f.StringVar(&policies, "policies", strings.Join(policyNames(), ","), "the policies to run, in this order (`NAME,NAME,...`)")
	f.IntVar(&opt.requests, "requests", 200, "requests sent under each policy")
	f.IntVar(&opt.workers, "workers", 16, "requests in flight at any moment")
	f.IntVar(&opt.servers, "servers", 4, "servers to start; the last one is the slow one")
	f.DurationVar(&opt.fast, "fast", 50*time.Millisecond, "time that a request takes on the other servers")
	f.DurationVar(&opt.slow, "slow", 200*time.Millisecond, "time that a request takes on the slow server")
	f.DurationVar(&opt.timeout, "timeout", 30*time.Second, "the longest that one request may take")
	f.Uint64Var(&opt.seed, "seed", 0, "make the policies' random choices a fixed sequence (0: another one each time)")
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(out)
			fmt.Fprintln(out, "Quickstart runs the same load under each balancing policy, with one slow server, and compares.")
			f.PrintDefaults()
			return opt, err
		}
		return opt, fmt.Errorf("%w; -h lists the flags", err)
	}
	if f.NArg() > 0 {
		return opt, fmt.Errorf("%q is not a flag; -h lists the flags", f.Arg(0))
	}
	opt.policies = splitList(policies)
	if len(opt.policies) == 0 {
		return opt, fmt.Errorf("-policies names none; choose among %s", strings.Join(policyNames(), ", "))
	}
	for i, p := range opt.policies {
		if balancers[p] == nil {
			return opt, fmt.Errorf("-policies: there is no policy %q; choose among %s", p, strings.Join(policyNames(), ", "))
		}
		if slices.Contains(opt.policies[:i], p) {
			return opt, fmt.Errorf("-policies names %s twice", p)
		}
	}
	for _, limit := range []struct {
		flag         string
		value, least int
		most         int
	}{
		{"-requests", opt.requests, 1, 10_000_000},
		{"-workers", opt.workers, 1, 10_000},
		{"-servers", opt.servers, 2, 1000},
	} {
		if limit.value < limit.least || limit.value > limit.most {
			return opt, fmt.Errorf("%s is %d; it must be from %d to %d", limit.flag, limit.value, limit.least, limit.most)
		}
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"-fast", opt.fast}, {"-slow", opt.slow}, {"-timeout", opt.timeout}} {
		if d.value <= 0 {
			return opt, fmt.Errorf("%s is %v; it must be above 0", d.flag, d.value)
		}
	}
	return opt, opt.setURLs(f, urls)
}

func (opt *options) setURLs(f *flag.FlagSet, list string) error {
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["url"] {
		return nil
	}
	for _, name := range []string{"servers", "fast", "slow"} {
		if given[name] {
			return fmt.Errorf("-%s is for servers started here; leave it out with -url", name)
		}
	}
	opt.urls = splitList(list)
	for i, u := range opt.urls {
		parsed, err := url.Parse(u)
		if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
			return fmt.Errorf("-url: %q is not a URL like http://10.0.0.1:8080", u)
		}
		if slices.Contains(opt.urls[:i], u) {
			return fmt.Errorf("-url names %s twice", u)
		}
	}
	if len(opt.urls) < 2 {
		return errors.New("-url needs at least two servers, with a comma between them: there is nothing to balance over one")
	}
	return nil
}

func splitList(s string) []string {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
