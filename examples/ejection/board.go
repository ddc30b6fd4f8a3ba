package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evenkeel-go/evenkeel"
)

// board draws the servers' states: on a terminal as a table that stands below the
// lines that were said and is redrawn in place, else not at all.
type board struct {
	out      io.Writer
	terminal bool
	farm     *farm
	pool     *evenkeel.Pool[string]
	calls    *calls
	began    time.Time
	text     bytes.Buffer // of one change of the screen, written in one piece
	lines    int          // of the table on the screen
	frames   []map[string]int64
}

// shareFrames is over how many frames the share of the traffic is taken.
const shareFrames = 5

// width is that of the lines of the table.
const width = 79

func newBoard(out io.Writer, terminal bool, f *farm, pool *evenkeel.Pool[string], c *calls) *board {
	return &board{out: out, terminal: terminal, farm: f, pool: pool, calls: c, began: time.Now()}
}

// say prints a line above the table, with the time since the run began.
func (b *board) say(format string, args ...any) {
	b.erase()
	fmt.Fprintf(&b.text, "%5.1f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
	b.show()
}

// tell says what an event is about.
func (b *board) tell(e evenkeel.Event) {
	text := fmt.Sprintf("%s: %v -> %v", b.farm.name(e.Backend.(string)), e.From, e.To)
	if !e.Until.IsZero() {
		text += fmt.Sprintf(" for %.1f s", e.Until.Sub(e.At).Seconds())
	}
	if e.Cause != nil && e.To != evenkeel.StateOnTrial { // its cause was printed already
		text += ": " + e.Cause.Error()
	}
	b.say("%s", text)
}

// draw makes a new frame of the table.
func (b *board) draw() {
	_, _, each := b.calls.sum()
	b.frames = append(b.frames, each)
	if len(b.frames) > shareFrames+1 {
		b.frames = b.frames[1:]
	}
	b.erase()
	b.show()
}

// erase takes the table off the screen: up to its first line, and all below away.
func (b *board) erase() {
	if b.lines > 0 {
		fmt.Fprintf(&b.text, "\x1b[%dA\x1b[J", b.lines)
		b.lines = 0
	}
}

// show prints the table from the newest frame and the pool's present state.
func (b *board) show() {
	defer func() { _, _ = b.text.WriteTo(b.out) }()
	if !b.terminal || len(b.frames) == 0 {
		return
	}
	oldest, newest := b.frames[0], b.frames[len(b.frames)-1]
	all := int64(0)
	for url := range newest {
		all += newest[url] - oldest[url]
	}
	now := time.Now()
	for url, s := range b.pool.All() {
		part := 0.0
		if all > 0 {
			part = float64(newest[url]-oldest[url]) / float64(all)
		}
		fmt.Fprintln(&b.text, row(b.farm.name(url), s, part, now))
		b.lines++
	}
}

// row is one line of the table.
func row(name string, s evenkeel.Stats, part float64, now time.Time) string {
	state := s.State.String()
	switch s.State {
	case evenkeel.StateEjectedByOutcome:
		state = fmt.Sprintf("ejected, %.1f s left", max(s.Until.Sub(now).Seconds(), 0))
	case evenkeel.StateSlowStart:
		state = fmt.Sprintf("slow start, %.0f %%", s.Share*100)
	}
	const bar = 12
	full := min(int(part*bar+0.5), bar)
	line := fmt.Sprintf("  %-9s  %-20s %s%s %3.0f %%", name, state, strings.Repeat("█", full), strings.Repeat("·", bar-full), part*100)
	if s.Cause != nil {
		line += "  " + s.Cause.Error()
	}
	if utf8.RuneCountInString(line) > width {
		line = string([]rune(line)[:width-1]) + "…"
	}
	return line
}
