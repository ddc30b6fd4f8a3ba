// Quickstart shows what a balancing policy does to four web servers of which one
// is slow. It starts the servers on loopback, each serving one request at a time,
// sends the same number of requests through an http.Client under one policy after
// the other, and prints a table.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -policies roundrobin,p2c -slow 500ms
//	go run ./examples/quickstart -url http://10.0.0.1:8080,http://10.0.0.2:8080
//
// Ctrl-C ends it with what it has so far.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, isTerminal(os.Stdout))
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the program: it prints to out, and redraws its progress in place if out
// is a terminal.
func run(ctx context.Context, args []string, out io.Writer, terminal bool) error {
	opt, err := parse(args, out)
	if err != nil {
		return err
	}
	fleet, err := findServers(ctx, opt)
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(out, "Stopped before the first request.")
			return nil
		}
		return err
	}
	defer fleet.close()
	fmt.Fprintf(out, "%d requests by %d workers for each policy; %s\n", opt.requests, opt.workers, fleet.text)

	progress := newProgress(out, terminal)
	var results []result
	for i, policy := range opt.policies {
		label := fmt.Sprintf("[%d/%d] %s", i+1, len(opt.policies), policy)
		r, err := measure(ctx, policy, fleet, opt, progress.begin(label, opt.requests))
		progress.end()
		if err != nil {
			return err
		}
		if r.finished() > 0 {
			results = append(results, r)
		}
		if ctx.Err() != nil {
			break
		}
	}
	report(out, results, fleet)
	if ctx.Err() != nil {
		fmt.Fprintln(out, "\nStopped; this is what was measured so far.")
		return nil
	}
	return failures(results)
}
