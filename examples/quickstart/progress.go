package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// isTerminal reports whether somebody is watching f, so that a line may be drawn
// again over itself.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// progress shows how far a run has come: one line that is redrawn on a terminal,
// else a plain line every second.
type progress struct {
	out      io.Writer
	redraw   bool
	every    time.Duration
	width    int // of the line on the screen
	label    string
	total    int
	began    time.Time
	done     atomic.Int64
	stop     chan struct{}
	finished sync.WaitGroup
}

func newProgress(out io.Writer, terminal bool) *progress {
	p := &progress{out: out, redraw: terminal, every: time.Second}
	if terminal {
		p.every = 100 * time.Millisecond
	}
	return p
}

// begin starts to show a run of total requests. The function that it returns is
// called after each of them, from any goroutine.
func (p *progress) begin(label string, total int) (count func()) {
	p.label, p.total, p.began = label, total, time.Now()
	p.done.Store(0)
	p.stop = make(chan struct{})
	p.finished.Go(func() {
		ticker := time.NewTicker(p.every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.show()
			case <-p.stop:
				return
			}
		}
	})
	return func() { p.done.Add(1) }
}

// end shows the final state of the run. On a terminal it takes the line away.
func (p *progress) end() {
	close(p.stop)
	p.finished.Wait()
	if p.redraw {
		p.draw("")
		fmt.Fprint(p.out, "\r")
		return
	}
	p.show()
}

func (p *progress) show() {
	line := fmt.Sprintf("%-20s %d/%d requests, %.1f s", p.label, p.done.Load(), p.total, time.Since(p.began).Seconds())
	if p.redraw {
		p.draw(line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// draw writes over the line on the screen; blanks hide the rest of a longer one.
func (p *progress) draw(line string) {
	fmt.Fprintf(p.out, "\r%-*s", p.width, line)
	p.width = len(line)
}
