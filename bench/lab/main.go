// Command lab runs the experiments of two published documents on load balancing
// with evenkeel's own balancers, in the simulator of package sim, and sets every
// figure that was published beside it. With own it answers which policy suits a fleet
// that is described by flags, by requests that were recorded (-trace) or drawn.
//
//	lab [flags] [STEP...]    all steps, or some
//	lab own [flags]          your fleet (lab own -h lists its flags)
//
// The exit status is 1 if something failed, or if -check found a row that does
// not agree with what was published, 2 for bad flags, and 130 after an interrupt.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// settings are the flags that all steps share.
type settings struct {
	check, json, csv bool
	html, svg        string
	seeds, parallel  int
	scale            float64
	args             []string // of the program, for the page
}

func (s *settings) register(f *flag.FlagSet) {
	f.BoolVar(&s.json, "json", false, "print one JSON object a row instead of tables")
	f.BoolVar(&s.csv, "csv", false, "print the rows as CSV instead of tables")
	f.StringVar(&s.html, "html", "", "write a page with all tables and plots to this `file`")
	f.IntVar(&s.seeds, "seeds", 20, "runs behind each row")
	f.IntVar(&s.parallel, "parallel", workers(), "runs at a time")
}

// usageError is a complaint about a flag or a word on the command line.
type usageError struct{ error }

func badFlag(name, format string, args ...any) error {
	return usageError{fmt.Errorf("-%s: %s", name, fmt.Sprintf(format, args...))}
}

func (s *settings) verify() error {
	switch {
	case s.json && s.csv:
		return badFlag("csv", "it cannot be had together with -json: both are printed to the standard output")
	case s.seeds < 2 || s.seeds > 10000:
		return badFlag("seeds", "%d is not within 2 to 10000", s.seeds)
	case s.parallel < 1 || s.parallel > 1024:
		return badFlag("parallel", "%d is not within 1 to 1024", s.parallel)
	case !(s.scale >= 0.1 && s.scale <= 10):
		return badFlag("scale", "%v is not within 0.1 to 10", s.scale)
	}
	return nil
}

func (s *settings) printer(w io.Writer) printer {
	switch {
	case s.json:
		return jsonPrinter{w}
	case s.csv:
		return &csvPrinter{w: csv.NewWriter(w)}
	}
	return textPrinter{w, s.check}
}

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdout io.Writer, stderr *os.File) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := dispatch(ctx, args, stdout, stderr)
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, context.Canceled):
		return 130
	case errors.As(err, &usage):
		fmt.Fprintln(stderr, "lab:", err)
		return 2
	}
	fmt.Fprintln(stderr, "lab:", err)
	return 1
}

func dispatch(ctx context.Context, args []string, stdout io.Writer, stderr *os.File) error {
	s := &settings{scale: 1, args: args}
	f := flag.NewFlagSet("lab", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	s.register(f)
	f.BoolVar(&s.check, "check", false, "print what difference to each published figure is allowed, and fail if one is larger")
	f.StringVar(&s.svg, "svg", "", "write the three plots of the README as SVG to this `directory`")
	f.Float64Var(&s.scale, "scale", 1, "of real time in slowbackend: 0.5 takes half as long and is less exact")
	var chosen []string
	for {
		if err := f.Parse(args); err != nil {
			return parseError(f, err, stderr, "lab [flags] [STEP...]\n\nSteps: "+strings.Join(stepNames(), " ")+" (none: all but own)\n\nFlags:")
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		if args[0] == "own" {
			if len(chosen) > 0 || s.check || s.svg != "" {
				return usageError{errors.New("own stands alone: not with other steps, -check or -svg, which are about published figures")}
			}
			return runOwn(ctx, s, args[1:], stdout, stderr)
		}
		if !slices.Contains(stepNames(), args[0]) {
			return usageError{fmt.Errorf("%q is no step; there are %s", args[0], strings.Join(stepNames(), ", "))}
		}
		chosen = append(chosen, args[0])
		args = args[1:]
	}
	if err := s.verify(); err != nil {
		return err
	}
	return runSteps(ctx, s, chosen, stdout, stderr)
}

// parseError turns what the flag package says into one sentence, and prints the
// usage for those who ask for it.
func parseError(f *flag.FlagSet, err error, stderr io.Writer, usage string) error {
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "Usage:", usage)
		f.SetOutput(stderr)
		f.PrintDefaults()
		return err
	}
	return usageError{err}
}
