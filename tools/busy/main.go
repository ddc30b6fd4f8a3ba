// Busy runs tests again and again while it keeps the machine busy, to find those
// that depend on who wins a race:
//
//	go run ./tools/busy                             20 times all tests of every module
//	go run ./tools/busy -race -times 5              5 times, with the race detector
//	go run ./tools/busy -run TestF061 ./lbhttp      only these tests of these packages
//
// It prints a line for each run, and at the end what the runs that failed have
// printed. Ctrl-C stops the tests and the load. It exits with status 1 if a run
// failed or was stopped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	root, err := repo.Root()
	if err == nil {
		err = run(ctx, root, os.Args[1:], os.Stdout)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "busy:", err)
		os.Exit(1)
	}
}

// A plan is what the arguments ask for.
type plan struct {
	times, load int
	test        []string // the arguments of the go command
}

func parse(args []string, out io.Writer) (plan, error) {
	f := flag.NewFlagSet("busy", flag.ContinueOnError)
	times := f.Int("times", 20, "how often to run the tests")
	race := f.Bool("race", false, "with the race detector")
	pattern := f.String("run", "", "only tests that match this regular expression")
	load := f.Int("load", runtime.NumCPU(), "how many threads to keep busy beside the tests")
	f.SetOutput(out)
	if err := f.Parse(args); err != nil {
		return plan{}, err
	}
	if *times < 1 || *load < 0 {
		return plan{}, errors.New("-times must be above 0, and -load must not be negative")
	}
	p := plan{times: *times, load: *load, test: []string{"test", "-count=1"}}
	if *race {
		p.test = append(p.test, "-race")
	}
	if *pattern != "" {
		p.test = append(p.test, "-run", *pattern)
	}
	if f.NArg() == 0 {
		p.test = append(p.test, "work")
	}
	p.test = append(p.test, f.Args()...)
	return p, nil
}

// run is the program, over the repository in root.
func run(ctx context.Context, root string, args []string, out io.Writer) error {
	p, err := parse(args, out)
	if err != nil {
		return err
	}
	busy := startLoad(p.load)
	defer busy.stop()
	var failed []string
	for i := 1; i <= p.times && ctx.Err() == nil; i++ {
		began := time.Now()
		output, err := test(ctx, root, p.test)
		if ctx.Err() != nil {
			break
		}
		word := "ok"
		if err != nil {
			word = "FAILED " + failures(output)
			failed = append(failed, fmt.Sprintf("=== run %d: %v\n%s", i, err, withoutPasses(output)))
		}
		fmt.Fprintf(out, "%2d/%d %.0f s %s\n", i, p.times, time.Since(began).Seconds(), word)
	}
	for _, text := range failed {
		fmt.Fprint(out, text)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped; %d runs had failed: %w", len(failed), context.Cause(ctx))
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d runs failed", len(failed), p.times)
	}
	return nil
}
