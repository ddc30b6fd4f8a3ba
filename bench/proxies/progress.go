package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// progress shows how far a run is, in one line that is drawn again and again on a
// terminal. Elsewhere it writes nothing.
type progress struct {
	out      io.Writer
	terminal bool
	label    string
	total    int
	done     atomic.Int64
	began    time.Time
	stop     chan struct{}
	drawing  sync.WaitGroup
	width    int // of the line that stands there
}

// begin starts to show a run of so many requests.
func (p *progress) begin(label string, total int) {
	p.label, p.total, p.began = label, total, time.Now()
	p.done.Store(0)
	if !p.terminal {
		return
	}
	p.stop = make(chan struct{})
	p.drawing.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.draw(fmt.Sprintf("%s: %d of %d requests, %.0f s", p.label, p.done.Load(), p.total, time.Since(p.began).Seconds()))
			}
		}
	})
}

// count says that a request is over. Any goroutine may call it.
func (p *progress) count() { p.done.Add(1) }

// end takes the line away.
func (p *progress) end() {
	if !p.terminal {
		return
	}
	close(p.stop)
	p.drawing.Wait()
	p.draw("")
	fmt.Fprint(p.out, "\r")
}

// draw writes over the line that stands there.
func (p *progress) draw(line string) {
	fmt.Fprintf(p.out, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}
