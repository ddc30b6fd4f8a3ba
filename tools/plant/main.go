// Plant proves that the tests notice: it plants bugs in the code, one at a time,
// runs the tests of the packages that should notice, and says for each bug
// whether they did.
//
//	go run ./tools/plant                    all of them
//	go run ./tools/plant -sample 6 -seed 3  six of them
//	go run ./tools/plant -run 'p2c|tie'     those whose name or file matches
//	go run ./tools/plant -list              only name them
//
// Nothing is written into the source tree: a bug is planted with the -overlay flag
// of the go command. The bugs stand in bugs.go. One whose pattern does not occur
// exactly once in its file, or that does not compile, is an error, and so is a
// package whose tests fail without a bug. It exits with status 1 on any error and
// if a bug was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
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
	sample := f.Int("sample", 0, "plant only so many, drawn at random (0: all)")
	seed := f.Uint64("seed", 1, "what the sample is drawn by")
	pattern := f.String("run", "", "plant only bugs whose name or file matches this regular expression")
	list := f.Bool("list", false, "name the bugs and plant none")
	timeout := f.Duration("timeout", time.Minute, "the longest that the tests of one package may take")
	f.SetOutput(out)
	if err := f.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run is no regular expression: %w", err)
	}
	if *sample < 0 || *timeout <= 0 || f.NArg() > 0 {
		return errors.New("-sample must not be negative, -timeout must be above 0, and there are no arguments besides flags")
	}
	chosen := slices.DeleteFunc(slices.Clone(bugs), func(b bug) bool { return !match.MatchString(b.name) && !match.MatchString(b.file) })
	if len(chosen) == 0 {
		return fmt.Errorf("no bug matches %q", *pattern)
	}
	if *sample > 0 && *sample < len(chosen) {
		rng := rand.New(rand.NewPCG(*seed, 0))
		rng.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:*sample]
	}
	if err := check(root, chosen); err != nil {
		return err
	}
	if *list {
		for _, b := range chosen {
			fmt.Fprintf(out, "%s: %s\n", b.file, b.name)
		}
		return nil
	}
	return plantAll(ctx, &field{root: root, timeout: *timeout}, chosen, out)
}

// plantAll plants the bugs one after the other, after a look at the tests as they
// are.
func plantAll(ctx context.Context, f *field, chosen []bug, out io.Writer) error {
	began := time.Now()
	var packages []string
	for _, b := range chosen {
		packages = append(packages, b.tests...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	if err := f.healthy(ctx, packages); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d packages pass without a bug (%.1f s)\n", len(packages), time.Since(began).Seconds())
	missed, broken := 0, 0
	for i, b := range chosen {
		start := time.Now()
		v := f.plant(ctx, b)
		if ctx.Err() != nil {
			return fmt.Errorf("stopped after %d of %d bugs", i, len(chosen))
		}
		fmt.Fprintf(out, "%2d/%d %-6s %s: %s (%s%.1f s)\n", i+1, len(chosen), v.word(), b.file, b.name, v.by, time.Since(start).Seconds())
		switch {
		case v.err != nil:
			broken++
			fmt.Fprintln(out, v.err)
		case !v.caught:
			missed++
		}
	}
	fmt.Fprintf(out, "caught %d of %d, in %.0f s\n", len(chosen)-missed-broken, len(chosen), time.Since(began).Seconds())
	if missed > 0 || broken > 0 {
		return fmt.Errorf("%d missed, %d could not be planted", missed, broken)
	}
	return nil
}
