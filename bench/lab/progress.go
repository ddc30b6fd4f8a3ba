package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress tells on standard error how far the work is: on a terminal in one line
// that is drawn again and again, elsewhere in a plain line for each step that is
// done.
type progress struct {
	w      io.Writer
	redraw bool
	began  time.Time
	stop   chan struct{}
	gone   sync.WaitGroup

	mu    sync.Mutex
	now   string // what is waited for
	drawn int    // length of the line that stands there
}

// startProgress begins to show the engine's progress on f.
func startProgress(e *engine, f *os.File) *progress {
	p := &progress{w: f, redraw: term.IsTerminal(int(f.Fd())), began: time.Now(), stop: make(chan struct{})}
	if p.redraw {
		p.gone.Go(func() {
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-p.stop:
					return
				case <-tick.C:
					p.draw(e.done.Load(), e.total.Load())
				}
			}
		})
	}
	return p
}

func (p *progress) draw(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now == "" {
		return // something else is being written
	}
	line := fmt.Sprintf("%s: %d of %d runs, %s", p.now, done, total, p.elapsed())
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.drawn-len(line))))
	p.drawn = len(line)
}

func (p *progress) elapsed() string {
	return time.Since(p.began).Round(100 * time.Millisecond).String()
}

// waitFor says what is waited for from now on.
func (p *progress) waitFor(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = step
}

// clear wipes the line, before something else is written; it stays away until
// waitFor.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = ""
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.drawn))
		p.drawn = 0
	}
}

// note writes a line of its own.
func (p *progress) note(format string, args ...any) {
	p.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// end stops the drawing.
func (p *progress) end() {
	close(p.stop)
	p.gone.Wait()
	p.clear()
}
