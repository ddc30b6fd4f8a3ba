// Ejection shows a bad backend leave by itself and come back gently. It starts
// five web servers on loopback and calls them without pause; one begins to fail
// and later heals. What the pool makes of each server is drawn as it changes: on
// a terminal in place, else as one plain line for every event.
//
//	go run ./examples/ejection
//	go run ./examples/ejection -speed 10
//
// The pool has the default settings (with -speed, all times are divided by it):
// five failures in a row eject for about 5 s, then one call tries the server, and
// if that fails too it is out for twice as long; a server that is back gets a
// tenth of its share at first. Ctrl-C ends the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, isTerminal(os.Stdout), &loopback{})
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "ejection:", err)
		os.Exit(1)
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// options are what the flags say.
type options struct {
	most    time.Duration // the run ends after this in any case
	speed   float64
	servers int
	callers int
}

// parse reads the flags. Help goes to out; whatever is wrong is one sentence.
func parse(args []string, out io.Writer) (options, error) {
	var opt options
	f := flag.NewFlagSet("ejection", flag.ContinueOnError)
	f.DurationVar(&opt.most, "for", 30*time.Second, "the longest that the run may take")
	f.Float64Var(&opt.speed, "speed", 1, "divide all times by this, from 0.1 to 100")
	f.IntVar(&opt.servers, "servers", 5, "servers to start, from 2 to 50; the last one fails for a while")
	f.IntVar(&opt.callers, "callers", 4, "calls in flight at any moment, from 1 to 1000")
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.SetOutput(out)
			fmt.Fprintln(out, "Ejection shows a failing server leave the pool by itself, and come back.")
			f.PrintDefaults()
			return opt, err
		}
		return opt, fmt.Errorf("%w; -h lists the flags", err)
	}
	switch {
	case f.NArg() > 0:
		return opt, fmt.Errorf("%q is not a flag; -h lists the flags", f.Arg(0))
	case opt.most <= 0:
		return opt, fmt.Errorf("-for is %v, but must be above 0", opt.most)
	case !(opt.speed >= 0.1 && opt.speed <= 100):
		return opt, fmt.Errorf("-speed is %v, but must be from 0.1 to 100", opt.speed)
	case opt.servers < 2 || opt.servers > 50:
		return opt, fmt.Errorf("-servers is %d, but must be from 2 to 50", opt.servers)
	case opt.callers < 1 || opt.callers > 1000:
		return opt, fmt.Errorf("-callers is %d, but must be from 1 to 1000", opt.callers)
	}
	return opt, nil
}
