// Plant proves that the tests notice: it plants bugs in the code, one at a time,
// runs the tests that should notice, and says for each bug whether they did.
//
//	go run ./tools/plant                    all of them
//	go run ./tools/plant -run 'p2c|tie'     those whose name or file matches
//	go run ./tools/plant -share 6 -turn 41  six of them, other ones in the next turn
//	go run ./tools/plant -list              only name them
//
// Turns that follow each other plant every bug once before they plant one again: 239
// bugs in shares of 6 take 40 turns.
//
// Nothing is written into the source tree: a bug is planted with the -overlay flag
// of the go command. The bugs stand in the files bugs_*.go. For a bug in eject.go the
// tests in eject_test.go and eject_*_test.go run first, then all of the packages that
// the bug names, and at last those of the other packages of its module. A bug whose
// pattern does not occur exactly once in its file, or that does not compile, is an
// error, and so is a package whose tests fail without a bug. Plant exits with status 1
// on any error and if a bug was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	root, err := repo.Root()
	if err == nil {
		err = run(ctx, root, bugs, os.Args[1:], os.Stdout)
	}
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "plant:", err)
		os.Exit(1)
	}
}

// run is the program, over the bugs of the repository in root.
func run(ctx context.Context, root string, bugs []bug, args []string, out io.Writer) error {
	f := flag.NewFlagSet("plant", flag.ContinueOnError)
	share := f.Int("share", 0, "plant only so many in each turn (0: all)")
	turn := f.Int("turn", 0, "which share to plant; any number from 0 up")
	pattern := f.String("run", "", "plant only bugs whose name or file matches this regular expression")
	list := f.Bool("list", false, "name the bugs and plant none")
	jobs := f.Int("jobs", runtime.GOMAXPROCS(0), "how many bugs to try at the same time")
	timeout := f.Duration("timeout", time.Minute, "the longest that the tests of one package may take")
	f.SetOutput(out)
	if err := f.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run is no regular expression: %w", err)
	}
	if *share < 0 || *turn < 0 || *jobs < 1 || *timeout <= 0 || f.NArg() > 0 {
		return errors.New("-share and -turn must not be negative, -jobs and -timeout must be above 0, and there are no arguments besides flags")
	}
	chosen := slices.DeleteFunc(slices.Clone(bugs), func(b bug) bool { return !match.MatchString(b.name) && !match.MatchString(b.file) })
	if len(chosen) == 0 {
		return fmt.Errorf("no bug matches %q; see all with -list", *pattern)
	}
	if err := check(root, chosen); err != nil { // those of other turns too: who changed the code is here now
		return err
	}
	chosen = deal(chosen, *share, *turn)
	if *list {
		for _, b := range chosen {
			fmt.Fprintln(out, b)
		}
		return nil
	}
	return plantAll(ctx, &field{root: root, timeout: *timeout, jobs: *jobs}, chosen, out)
}

// deal is one turn's share of the bugs. The turns go round: as many of them as it
// takes to deal out all bugs follow each other with every bug in exactly one.
func deal(bugs []bug, share, turn int) []bug {
	if share == 0 || share >= len(bugs) {
		return bugs
	}
	turns := (len(bugs) + share - 1) / share
	var dealt []bug
	for i := turn % turns; i < len(bugs); i += turns {
		dealt = append(dealt, bugs[i])
	}
	return dealt
}

// plantAll plants the bugs, several at the same time, after a look at the tests as
// they are.
func plantAll(ctx context.Context, f *field, chosen []bug, out io.Writer) error {
	began := time.Now()
	line := newStatus(out)
	defer line.clear()
	line.show("the tests without a bug")
	if err := f.healthy(ctx, f.root, packagesOf(chosen)); err != nil {
		return err
	}
	var mu sync.Mutex // guards the output and what follows
	var ended, missed, broken int
	var group errgroup.Group
	group.SetLimit(f.jobs)
	for _, b := range chosen {
		group.Go(func() error {
			start := time.Now()
			mu.Lock()
			line.show(fmt.Sprintf("%d/%d %s", ended, len(chosen), b))
			mu.Unlock()
			v := f.plant(ctx, b)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			ended++
			line.clear()
			fmt.Fprintf(out, "%2d/%d %s %s (%s%.1f s)\n", ended, len(chosen), v.word(), b, v.by, time.Since(start).Seconds())
			fmt.Fprint(out, v.advice(b))
			switch {
			case v.err != nil:
				broken++
			case !v.caught:
				missed++
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("stopped after %d of %d bugs: %w", ended, len(chosen), err)
	}
	fmt.Fprintf(out, "caught %d of %d, in %.0f s\n", len(chosen)-missed-broken, len(chosen), time.Since(began).Seconds())
	if missed > 0 || broken > 0 {
		return fmt.Errorf("%d missed, %d could not be planted; what to do stands below each of them", missed, broken)
	}
	return nil
}
