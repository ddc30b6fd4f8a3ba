package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// runOwn compares the policies on the fleet that the flags describe.
func runOwn(ctx context.Context, s *settings, args []string, stdout io.Writer, stderr *os.File) error {
	o, err := parseFleet(s, args, stderr)
	if err != nil {
		return err
	}
	cfg, err := o.config()
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
	var done []contender
	var failed error
	for i, name := range names {
		if err := all[i].wait(ctx); err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
			if ctx.Err() != nil {
				p.note("interrupted after %s: %d of %d policies were done", p.elapsed(), i, len(names))
			}
			break
		}
		done = append(done, contender{name: name, runs: all[i]})
	}
	if len(done) == 0 {
		return failed
	}
	p.clear()
	t := o.table(&cfg, rank(&cfg, o.by, done), s.seeds)
	if err := s.printer(stdout).print(t); err != nil {
		return err
	}
	if err := s.write([]*table{t}); err != nil {
		return err
	}
	return failed
}
