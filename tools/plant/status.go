package main

import (
	"fmt"
	"io"
	"os"
)

// A status is the last line on a terminal, which says what is being done. Where
// there is no terminal it is silent.
type status struct{ terminal io.Writer }

func newStatus(out io.Writer) status {
	file, ok := out.(*os.File)
	if !ok {
		return status{}
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return status{}
	}
	return status{terminal: file}
}

// show replaces the line.
func (s status) show(text string) {
	const width = 79 // a longer line would wrap, and could not be cleared
	if runes := []rune(text); len(runes) > width {
		text = string(runes[:width])
	}
	if s.terminal != nil {
		fmt.Fprintf(s.terminal, "\r\x1b[K%s", text)
	}
}

// clear leaves an empty line, to print on.
func (s status) clear() {
	if s.terminal != nil {
		fmt.Fprint(s.terminal, "\r\x1b[K")
	}
}
