// Command proxies sets evenkeel beside nginx, HAProxy and lighttpd: the same
// requests, by the same clients, in front of the same servers.
//
//	cd bench/proxies
//	GOWORK=off go run . -h
//	GOWORK=off go run . -short
//
// Step slow is the last step of a published tutorial on load balancing, step
// capacity the benchmark of a published text on lighttpd's shortest queue first;
// what these published stands beside what is measured. The proxies listen on
// loopback, each with a temporary directory, and are stopped when their row is
// done, after a failure and on Ctrl-C as well. Their configuration files are made
// from the templates in config.
//
// The exit status is 1 if something failed or -check found a row that is not as
// expected, 2 for bad flags, and 130 after an interrupt.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := program(ctx, os.Args[1:], os.Stdout, os.Stderr, term.IsTerminal(int(os.Stderr.Fd())))
	stop()
	os.Exit(status)
}

// program is the program. It returns the exit status. Progress goes to stderr if that
// is a terminal.
func program(ctx context.Context, args []string, stdout, stderr io.Writer, terminal bool) int {
	opt, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "proxies:", err)
		return 2
	}
	err = compare(ctx, opt, args, stdout, &progress{out: stderr, terminal: terminal})
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "proxies: interrupted; the proxies are stopped")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "proxies:", err)
		return 1
	}
	return 0
}

// compare runs the steps and reports.
func compare(ctx context.Context, opt options, args []string, stdout io.Writer, p *progress) error {
	b, err := findBench(ctx, opt.products)
	if err != nil {
		return err
	}
	defer b.close()
	for _, sentence := range b.missing {
		fmt.Fprintln(p.out, "proxies:", sentence)
	}
	if opt.check && len(b.products) == 0 {
		return errors.New("-check has nothing to compare evenkeel with: no proxy is installed")
	}
	r := newReport(ctx, b, opt, args)
	for _, c := range contests(b, opt) {
		rows, err := measure(ctx, c, opt.repeat, p)
		if err != nil {
			return err
		}
		result := newResult(c, rows)
		r.Results = append(r.Results, result)
		r.Verdicts = append(r.Verdicts, judge(result)...)
		if !opt.json {
			tableOf(result, opt.repeat).text(stdout)
		}
	}
	if err := publish(r, opt, stdout); err != nil {
		return err
	}
	if failed := failures(r.Verdicts); opt.check && failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(r.Verdicts))
	}
	return nil
}

// contests are those of the chosen steps.
func contests(b *bench, opt options) []contest {
	var all []contest
	if slices.Contains(opt.steps, stepSlow) {
		for _, n := range opt.requests {
			all = append(all, slowContest(b, n, opt.clients, opt.abreast))
		}
	}
	if slices.Contains(opt.steps, stepCapacity) {
		all = append(all, capacityContest(b, opt.speed, opt.many, opt.clients))
	}
	return all
}

// publish prints what comes after the tables, and writes the document.
func publish(r report, opt options, stdout io.Writer) error {
	if opt.doc != "" {
		if err := writeDocument(opt.doc, r); err != nil {
			return err
		}
	}
	if opt.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", " ")
		return enc.Encode(r)
	}
	if opt.check {
		for _, v := range r.Verdicts {
			fmt.Fprintln(stdout, v)
		}
	}
	return nil
}

// String is the verdict in one line.
func (v verdict) String() string {
	word := "ok    "
	if !v.OK {
		word = "FAILED"
	}
	return fmt.Sprintf("%s %s; got %s", word, v.What, v.Got)
}

func failures(verdicts []verdict) int {
	failed := 0
	for _, v := range verdicts {
		if !v.OK {
			failed++
		}
	}
	return failed
}
