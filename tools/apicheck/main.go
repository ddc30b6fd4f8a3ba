// Apicheck compares the public API of the module with the baseline that stands
// beside it, and fails if a program that used the API then might not compile now:
//
//	go run ./tools/apicheck            compare
//	go run ./tools/apicheck -write     make today's API the baseline
//
// A break is thus a deliberate act: the commit that makes it holds a new
// baseline, and its text form (baseline/api.txt) shows the reader what has
// changed. Whether a change breaks is decided by golang.org/x/exp/apidiff, which
// works from the types in baseline/*.export.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
)

func main() {
	write := flag.Bool("write", false, "make today's API the baseline")
	flag.Parse()
	if err := run(*write, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(1)
	}
}

var errBroken = errors.New("the public API breaks programs that use it; if that is meant, run: go run ./tools/apicheck -write")

func run(write bool, out io.Writer) error {
	root, err := repo.Root()
	if err != nil {
		return err
	}
	now, err := load(root)
	if err != nil {
		return err
	}
	baseline := filepath.Join(root, "tools", "apicheck", "baseline")
	then, err := read(baseline)
	if write {
		if err == nil && then.same(now) {
			fmt.Fprintln(out, "the baseline is up to date")
			return nil
		}
		fmt.Fprintf(out, "the baseline now holds the API of %d packages\n", len(now.packages))
		return now.write(baseline)
	}
	if err != nil {
		return err
	}
	breaking, compatible := compare(then, now)
	for _, change := range breaking {
		fmt.Fprintln(out, "breaks:", change)
	}
	for _, change := range compatible {
		fmt.Fprintln(out, "compatible:", change)
	}
	if len(breaking) > 0 {
		return errBroken
	}
	if !then.same(now) {
		fmt.Fprintln(out, "The API is not that of the baseline to the letter; record it with: go run ./tools/apicheck -write")
	}
	fmt.Fprintf(out, "the API of %d packages breaks nobody\n", len(now.packages))
	return nil
}
