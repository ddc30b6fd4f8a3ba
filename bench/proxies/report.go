package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// A report is all that a call of this program has found.
type report struct {
	Date     string    `json:"date"`
	Command  string    `json:"command"`
	Machine  string    `json:"machine"`
	Versions []string  `json:"versions"`
	Missing  []string  `json:"missing,omitempty"`
	Note     string    `json:"note,omitempty"`
	Repeat   int       `json:"repeat"`
	Results  []result  `json:"results"`
	Verdicts []verdict `json:"verdicts"`
}

// A result is a contest with its rows.
type result struct {
	Step     string    `json:"step"`
	Services []float64 `json:"service_seconds"` // of the servers; the last is the slow one
	Requests int       `json:"requests"`
	Clients  int       `json:"clients"`
	Abreast  int       `json:"rows_at_a_time"`
	Rows     []row     `json:"rows"`
}

func newResult(c contest, rows []row) result {
	r := result{Step: c.step, Requests: c.requests, Clients: c.clients, Abreast: c.abreast, Rows: rows}
	if r.Abreast == 0 {
		r.Abreast = len(rows)
	}
	for _, service := range c.services {
		r.Services = append(r.Services, service.Seconds())
	}
	return r
}

// capacity is what all servers together can answer in a second.
func (r result) capacity() float64 {
	sum := 0.0
	for _, service := range r.Services {
		sum += 1 / service
	}
	return sum
}

// newReport is a report of the present time and machine, without results.
func newReport(ctx context.Context, b *bench, opt options, args []string) report {
	r := report{
		Date:    time.Now().Format(time.DateOnly),
		Command: "GOWORK=off go run . " + quoted(args),
		Machine: machine(ctx),
		Missing: b.missing,
		Note:    opt.note,
		Repeat:  opt.repeat,
	}
	for _, p := range b.products {
		r.Versions = append(r.Versions, p.name+" "+p.number)
	}
	r.Versions = append(r.Versions, "evenkeel of this directory", strings.Replace(runtime.Version(), "go", "Go ", 1))
	return r
}

var plainWord = regexp.MustCompile(`^[-\w.,/=:]+$`)

// quoted are the arguments as a shell takes them.
func quoted(args []string) string {
	var words []string
	for _, a := range args {
		if !plainWord.MatchString(a) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

var modelName = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

// machine is the kind of the computer, as far as it says.
func machine(ctx context.Context) string {
	words := []string{cpus(runtime.NumCPU())}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := modelName.FindSubmatch(text); m != nil {
			words = append(words, string(m[1]))
		}
	}
	if text, err := exec.CommandContext(ctx, "uname", "-srm").Output(); err == nil {
		words = append(words, strings.TrimSpace(string(text)))
	} else {
		words = append(words, runtime.GOOS+" "+runtime.GOARCH)
	}
	return strings.Join(words, ", ")
}

func cpus(n int) string {
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%d CPUs", n)
}
