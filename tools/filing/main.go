// Filing shows in which order the files of a package stand: a file uses those below
// it and never one above. It fails if there is no such order, because files use each
// other in a cycle, and names the uses that make the cycle:
//
//	go run ./tools/filing                 the packages of the module that others may import
//	go run ./tools/filing . ./lbhttp      these packages
//	go run ./tools/filing -v ./lbhttp     and one use for each two files of which one uses the other
//
// Files on one line do not use each other. Tests are left out. A method belongs to
// the file that declares it, and a field to the file of its struct type.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/evenkeel-go/evenkeel/tools/internal/repo"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "filing:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	f := flag.NewFlagSet("filing", flag.ContinueOnError)
	verbose := f.Bool("v", false, "print one use for each two files of which one uses the other")
	f.SetOutput(out)
	if err := f.Parse(args); err != nil {
		return err
	}
	packages, err := find(f.Args())
	if err != nil {
		return err
	}
	cyclic := 0
	for _, p := range packages {
		if !report(out, p.PkgPath, usesIn(p), *verbose) {
			cyclic++
		}
	}
	if cyclic > 0 {
		return fmt.Errorf("in %d of %d packages files use each other: move the declarations that the cycles name into the file that uses them, or into one below both", cyclic, len(packages))
	}
	return nil
}

// find loads the packages that the patterns name, or without patterns those of the
// repository that others may import.
func find(patterns []string) ([]*pkg, error) {
	if len(patterns) > 0 {
		return load(".", patterns)
	}
	root, err := repo.Root()
	if err != nil {
		return nil, err
	}
	all, err := load(root, []string{"./..."})
	if err != nil {
		return nil, err
	}
	return importable(all), nil
}

// report prints the order of one package's files, or its cycles, and says whether
// there is an order.
func report(out io.Writer, path string, g *graph, verbose bool) bool {
	cycles := g.cycles()
	if len(cycles) == 0 {
		fmt.Fprintf(out, "%s: %d files\n", path, len(g.files))
		for _, layer := range g.layers() {
			fmt.Fprint(out, "\t")
			for i, file := range layer {
				if i > 0 {
					fmt.Fprint(out, "  ")
				}
				fmt.Fprint(out, file)
			}
			fmt.Fprintln(out)
		}
	} else {
		fmt.Fprintf(out, "%s: %d files that have no order\n", path, len(g.files))
		for _, cycle := range cycles {
			fmt.Fprintf(out, "\tcycle of %d files:\n", len(cycle))
			for _, e := range cycle {
				fmt.Fprintf(out, "\t\t%s\n", e)
			}
		}
	}
	if verbose {
		for _, e := range g.edges {
			fmt.Fprintf(out, "\t%s\n", e)
		}
	}
	return len(cycles) == 0
}
