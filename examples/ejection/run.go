package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// The script, at speed 1.
const (
	failsAfter = 2 * time.Second
	healsAfter = 10 * time.Second
	lingers    = 2 * time.Second // after it is back at its full share
	callTakes  = 20 * time.Millisecond
)

// run is the program: it prints to out, and draws in place if out is a terminal.
func run(ctx context.Context, args []string, out io.Writer, terminal bool, where network) error {
	opt, err := parse(args, out)
	if err != nil {
		return err
	}
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / opt.speed) }
	farm, err := startServers(where, opt.servers, scaled(callTakes))
	if err != nil {
		return err
	}
	defer farm.close()

	events := make(chan evenkeel.Event, 1000) // more than a run has, so that OnEvent never waits
	cfg := evenkeel.Config{OnEvent: func(e evenkeel.Event) { events <- e }}
	if opt.speed != 1 {
		cfg.Ejection.Base = scaled(5 * time.Second)
		cfg.Ejection.Window = scaled(10 * time.Second)
		cfg.SlowStart.Window = scaled(10 * time.Second)
	}
	pool, err := evenkeel.NewPool(cfg, farm.urls...)
	if err != nil {
		return err
	}
	lb := p2c.New(pool)
	calls := startCalls(ctx, lb, farm.urls, opt.callers, where)
	defer calls.stop()

	bad := farm.urls[len(farm.urls)-1]
	b := newBoard(out, terminal, farm, pool, calls)
	b.say("%d servers, each call takes %v, %d callers; %s will fail for a while", opt.servers, scaled(callTakes), opt.callers, farm.name(bad))
	b.draw()

	fails, heals, over := time.NewTimer(scaled(failsAfter)), time.NewTimer(scaled(healsAfter)), time.NewTimer(opt.most)
	defer fails.Stop()
	defer heals.Stop()
	defer over.Stop()
	frames := time.NewTicker(scaled(200 * time.Millisecond))
	defer frames.Stop()
	healed := false
	for running := true; running; {
		select {
		case <-ctx.Done():
			b.say("stopped")
			running = false
		case <-over.C:
			running = false
		case <-fails.C:
			farm.setFailing(bad, true)
			b.say("%s begins to fail", farm.name(bad))
		case <-heals.C:
			farm.setFailing(bad, false)
			healed = true
			b.say("%s works again, which nobody knows yet", farm.name(bad))
		case e := <-events:
			b.tell(e)
			if healed && e.Backend == bad && e.To == evenkeel.StateActive {
				over.Reset(min(scaled(lingers), time.Until(b.began.Add(opt.most))))
			}
		case <-frames.C:
			b.draw()
		}
	}
	calls.stop()
	b.draw()
	total, failed, tried := calls.sum()
	fmt.Fprintf(out, "%d calls, of which %d failed", total, failed)
	if e := stats(pool, bad).Ejections; e > 0 {
		fmt.Fprintf(out, "; %s was ejected %d times and got %d calls", farm.name(bad), e, tried[bad])
	}
	fmt.Fprintln(out, ".")
	return nil
}

func stats(pool *evenkeel.Pool[string], backend string) evenkeel.Stats {
	for b, s := range pool.All() {
		if b == backend {
			return s
		}
	}
	return evenkeel.Stats{}
}
