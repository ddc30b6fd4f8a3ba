package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// options is the size of a run.
type options struct {
	seed              uint64
	short, all, check bool
	most              int     // backends
	repeat            int     // scenes of each kind
	perBackend        float64 // calls a second
	calls             int     // healthy ones
	hot               int     // rounds of the hot path; 0: not measured
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "ejection:", err)
			os.Exit(1)
		}
	}
}

func run(args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if err := detection(o, out); err != nil {
		return err
	}
	if err := traffic(o, out); err != nil {
		return err
	}
	if err := hanging(o, out); err != nil {
		return err
	}
	if err := relapse(o, out); err != nil {
		return err
	}
	if err := falseAlarms(o, out); err != nil {
		return err
	}
	broken, err := claims(scenarios(), o, out)
	if err != nil {
		return err
	}
	if o.hot > 0 {
		if err := hotPathLine(o, out); err != nil {
			return err
		}
	}
	if o.check && len(broken) > 0 {
		return fmt.Errorf("%d claims do not hold:\n%s", len(broken), strings.Join(broken, "\n"))
	}
	return nil
}

// hotPathLine prints what ejection costs a call.
func hotPathLine(o options, out io.Writer) error {
	off, on, err := hotPath(o.hot, 5_000)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nHot path: p2c over 10 backends, Lease and Done(nil), best of %d rounds in turns:\n"+
		"ejection off %.1f ns, on %.1f ns, difference %.1f ns\n", o.hot, off, on, on-off)
	return err
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("ejection", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Uint64Var(&o.seed, "seed", 1, "of everything random; the same seed gives the same tables")
	flags.BoolVar(&o.short, "short", false, "a small size, of a few seconds")
	flags.BoolVar(&o.all, "all", false, "print a line for every n and k")
	flags.BoolVar(&o.check, "check", false, "fail if a claim does not hold")
	flags.IntVar(&o.most, "n", 50, "most backends, at least 2")
	flags.IntVar(&o.repeat, "repeat", 1, "scenes for every n, k and failure rate; five times as many where n is 10 or less")
	flags.Float64Var(&o.perBackend, "rate", 100, "calls a second for each backend")
	flags.IntVar(&o.calls, "calls", 10_000_000, "healthy calls for each size of pool")
	flags.IntVar(&o.hot, "hot", 2000, "rounds of the hot path; 0: not measured")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(os.Stderr)
			flags.PrintDefaults()
		}
		return o, err
	}
	if o.short {
		o.most, o.repeat, o.calls, o.hot = min(o.most, 5), 1, min(o.calls, 100_000), 0
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is no flag; there are no arguments", flags.Arg(0))
	case o.most < 2:
		return o, fmt.Errorf("-n is %d, but ejection takes at least 2 backends", o.most)
	case o.repeat < 1 || o.calls < 1 || o.hot < 0:
		return o, errors.New("-repeat and -calls must be at least 1, and -hot at least 0")
	case !(o.perBackend >= 0.1 && o.perBackend <= 1e5):
		return o, fmt.Errorf("-rate is %v, but must be within 0.1 to 100000", o.perBackend)
	}
	return o, nil
}

// rates are the probabilities of failure that are measured.
var rates = []float64{1, 0.5, 0.1}

const noise = 0.01

// parallel runs f for 0 to n-1 on all processors and returns the first error.
func parallel(n int, f func(i int) error) error {
	var group sync.WaitGroup
	next, errs := make(chan int), make([]error, n)
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}

// mix makes a seed of a seed and numbers.
func mix(seed uint64, numbers ...int) uint64 {
	for _, v := range numbers {
		seed = (seed ^ uint64(v)) * 0x9e3779b97f4a7c15
		seed ^= seed >> 29
	}
	return seed
}

// play plays every scene o.repeat times, or more often.
func play(scenes []scene, o options) ([]found, error) {
	results := make([][]found, len(scenes))
	err := parallel(len(scenes), func(i int) error {
		repeat := o.repeat
		if scenes[i].n <= 10 && !o.short {
			repeat *= 5 // small pools have few scenes
		}
		for r := range repeat {
			s := scenes[i]
			s.seed = mix(o.seed, s.n, s.k, int(s.rate*1000), int(s.perBackend*1000), r)
			f, err := detect(s)
			if err != nil {
				return err
			}
			results[i] = append(results[i], f)
		}
		return nil
	})
	merged := make([]found, len(scenes))
	for i, list := range results {
		for _, f := range list {
			merged[i].add(f)
		}
	}
	return merged, err
}

// detection is the table of n and k.
func detection(o options, out io.Writer) error {
	var scenes []scene
	for n := 2; n <= o.most; n++ {
		for k := 1; k <= n/2; k++ {
			for _, rate := range rates {
				scenes = append(scenes, scene{n: n, k: k, rate: rate, noise: noise, perBackend: o.perBackend})
			}
		}
	}
	results, err := play(scenes, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Time and calls until a failing backend is ejected, default settings, %v calls/s for each backend,\n"+
		"%v of work, a failure after %v; %.0f %% of the calls of healthy ones fail too. k of n backends begin to fail\n"+
		"at one moment, after %v without. Median (worst) over all failing backends; missed: not ejected within %v.\n\n",
		o.perBackend, work, failAfter, noise*100, settle, patience)
	t := table(out)
	fmt.Fprintln(t, "n\tk\tfails\ttime\tcalls\tmissed\thealthy ejected")
	bands := []band{{2, 2}, {3, 3}, {4, 5}, {6, 10}, {11, 20}, {21, 50}}
	if o.all {
		for i, s := range scenes {
			line(t, fmt.Sprint(s.n), fmt.Sprint(s.k), s.rate, results[i].summarize())
		}
		return t.Flush()
	}
	for _, b := range bands {
		for _, part := range []string{"1", "up to n/4", "up to n/2"} {
			for _, rate := range rates {
				var all found
				matched := false
				for i, s := range scenes {
					if s.rate == rate && b.low <= s.n && s.n <= b.high && part == partOf(s) {
						all.add(results[i])
						matched = true
					}
				}
				if matched {
					line(t, b.String(), part, rate, all.summarize())
				}
			}
		}
	}
	return t.Flush()
}

// band is a range of n that shares a line.
type band struct{ low, high int }

func (b band) String() string {
	if b.low == b.high {
		return fmt.Sprint(b.low)
	}
	return fmt.Sprintf("%d-%d", b.low, b.high)
}

func partOf(s scene) string {
	switch {
	case s.k == 1:
		return "1"
	case s.k <= s.n/4:
		return "up to n/4"
	}
	return "up to n/2"
}

// traffic is the table of how much traffic detection needs.
func traffic(o options, out io.Writer) error {
	sizes := []struct{ n, k int }{{2, 1}, {10, 1}, {10, 5}}
	speeds := []float64{1, 3, 10, 30, 100, 300}
	if o.short {
		sizes, speeds = sizes[:2], []float64{3, 30}
	}
	var scenes []scene
	for _, size := range sizes {
		for _, rate := range rates {
			for _, speed := range speeds {
				scenes = append(scenes, scene{n: size.n, k: size.k, rate: rate, noise: noise, perBackend: speed})
			}
		}
	}
	results, err := play(scenes, o)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\nThe same by how many calls a second each backend is given:\n\n")
	t := table(out)
	fmt.Fprintln(t, "n\tk\tfails\tcalls/s each\ttime\tcalls\tmissed\thealthy ejected")
	for i, s := range scenes {
		line(t, fmt.Sprint(s.n), fmt.Sprint(s.k), s.rate, results[i].summarize(), fmt.Sprint(s.perBackend))
	}
	return t.Flush()
}

// hanging is the table of backends that do not fail but hang.
func hanging(o options, out io.Writer) error {
	sizes := []struct{ n, k int }{{2, 1}, {10, 1}, {10, 5}}
	speeds := []float64{3, 10, 30, 100, 300}
	if o.short {
		sizes, speeds = sizes[:1], speeds[1:2]
	}
	var scenes []scene
	for _, size := range sizes {
		for _, speed := range speeds {
			scenes = append(scenes, scene{n: size.n, k: size.k, rate: 1, perBackend: speed, hang: true})
		}
	}
	results, err := play(scenes, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nBackends that hang: every call there lasts until its caller's deadline, %v, and all others succeed.\n"+
		"Time from when they begin to; being the busiest keeps most calls away from them meanwhile.\n\n", deadline)
	t := table(out)
	fmt.Fprintln(t, "n\tk\tfails\tcalls/s each\ttime\tcalls\tmissed\thealthy ejected")
	for i, s := range scenes {
		line(t, fmt.Sprint(s.n), fmt.Sprint(s.k), s.rate, results[i].summarize(), fmt.Sprint(s.perBackend))
	}
	return t.Flush()
}

// relapse is the table of the second time: a backend that failed, was ejected and
// came back begins to fail anew.
func relapse(o options, out io.Writer) error {
	const n, back = 5, time.Minute
	var scenes []scene
	list := []float64{1, 0.5, 0.2, 0.1}
	if o.short {
		list = list[:1]
	}
	for _, rate := range list {
		for _, again := range []time.Duration{0, back} {
			for _, noise := range []float64{0, noise} {
				scenes = append(scenes, scene{n: n, k: 1, rate: rate, noise: noise, perBackend: o.perBackend, relapse: again})
			}
		}
	}
	results, err := play(scenes, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe first time and the second: it failed altogether, was ejected, and has been well for %v since.\n"+
		"Noise is how many of the calls of healthy ones fail.\n\n", back)
	t := table(out)
	fmt.Fprintln(t, "n\tk\tfails\tnoise\tsecond time\ttime\tcalls\tmissed\thealthy ejected")
	for i, s := range scenes {
		second := "no"
		if s.relapse > 0 {
			second = "yes"
		}
		line(t, fmt.Sprint(s.n), fmt.Sprint(s.k), s.rate, results[i].summarize(), fmt.Sprintf("%.0f %%", s.noise*100), second)
	}
	return t.Flush()
}

// falseAlarms is the table of ejections where nothing is wrong.
func falseAlarms(o options, out io.Writer) error {
	type job struct {
		n     int
		noise float64
		calls int
	}
	var jobs []job
	for _, n := range []int{2, 5, 10, 50} {
		if n <= o.most {
			jobs = append(jobs, job{n, noise, o.calls})
		}
	}
	for _, much := range []float64{0.02, 0.05, 0.1, 0.2} { // no backend is worse than another here either
		jobs = append(jobs, job{min(10, o.most), much, max(o.calls/10, 1)})
	}
	results := make([]calm, len(jobs))
	err := parallel(len(jobs), func(i int) error {
		var err error
		j := jobs[i]
		results[i], err = healthy(j.n, j.noise, o.perBackend, j.calls, mix(o.seed, j.n, int(j.noise*1000)))
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprint(out, "\nEjections where all backends fail alike:\n\n")
	t := table(out)
	fmt.Fprintln(t, "n\tfails\tcalls\tfailures\tejections")
	for _, c := range results {
		fmt.Fprintf(t, "%d\t%.0f %%\t%d\t%d\t%d\n", c.n, c.noise*100, c.calls, c.failures, c.ejections)
	}
	return t.Flush()
}

func table(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

func line(t io.Writer, n, k string, rate float64, s summary, more ...string) {
	fmt.Fprintf(t, "%s\t%s\t%.0f %%\t", n, k, rate*100)
	for _, m := range more {
		fmt.Fprint(t, m, "\t")
	}
	if s.missed == s.of {
		fmt.Fprint(t, "-\t-\t")
	} else {
		fmt.Fprintf(t, "%s (%s)\t%d (%d)\t", short(s.median), short(s.worst), s.medianCalls, s.worstCalls)
	}
	fmt.Fprintf(t, "%d of %d\t%d\n", s.missed, s.of, s.wrong)
}

func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
