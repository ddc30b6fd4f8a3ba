package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inOrder requires that out has all the texts, one after the other.
func inOrder(t *testing.T, out string, texts ...string) {
	t.Helper()
	rest := out
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		require.True(t, found, "%q is missing, or out of order, in\n%s", text, out)
		rest = after
	}
}

// play runs the program on virtual time, over servers in memory: how busy the
// machine is does not matter.
func play(t *testing.T, out io.Writer, terminal bool, args ...string) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, run(t.Context(), args, out, terminal, newMemory()))
	})
}

// The whole story through a pipe: a plain line for every event, of nobody but the
// server that fails.
func TestAServerLeavesAndComesBack(t *testing.T) {
	var out bytes.Buffer
	play(t, &out, false, "-speed", "20", "-for", "2m")
	inOrder(t, out.String(),
		"5 servers, each call takes 1ms, 4 callers; server 5 will fail for a while\n",
		"server 5 begins to fail\n",
		"server 5: active -> ejected by outcome for 0.2 s: 5 failures in a row, the last: status 500 Internal Server Error\n",
		"server 5: ejected by outcome -> on trial\n",
		"server 5: on trial -> slow start\n",
		"server 5: slow start -> active\n",
		" calls, of which ", "server 5 was ejected ", " calls.\n")
	inOrder(t, out.String(), "server 5 works again, which nobody knows yet\n", "server 5: slow start -> active\n")
	for _, other := range []string{"server 1:", "server 2:", "server 3:", "server 4:", "\x1b"} {
		assert.NotContains(t, out.String(), other)
	}
}

// On a terminal the table is drawn below the lines, and redrawn in place.
func TestOnATerminal(t *testing.T) {
	var out bytes.Buffer
	play(t, &out, true, "-speed", "20", "-for", "2m", "-servers", "3", "-callers", "2")
	assert.Contains(t, out.String(), "\x1b[3A\x1b[J")
	for _, text := range []string{"server 3   ejected, 0.", "server 3   slow start, ", "server 1   active  "} {
		assert.Contains(t, out.String(), "  "+text)
	}
	last := out.String()[strings.LastIndex(out.String(), "\x1b[3A\x1b[J")+len("\x1b[3A\x1b[J"):]
	assert.Equal(t, 4, strings.Count(last, "\n"), "the table stays, and then the sum\n%s", last)
}

func TestCtrlCEndsItCleanly(t *testing.T) {
	out := &stopOn{text: "begins to fail"}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		out.stop = stop
		require.NoError(t, run(ctx, []string{"-speed", "10"}, out, false, newMemory()))
	})
	inOrder(t, out.all.String(), "server 5 begins to fail", "stopped\n", " calls, of which ")
}

// stopOn is an output that calls stop when it sees a text.
type stopOn struct {
	all  bytes.Buffer
	text string
	stop context.CancelFunc
}

func (s *stopOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.text)) {
		s.stop()
	}
	return s.all.Write(p)
}

func TestForEndsIt(t *testing.T) {
	var out bytes.Buffer
	play(t, &out, false, "-for", "100ms")
	assert.NotContains(t, out.String(), "fail\n")
	assert.Contains(t, out.String(), " failed.\n", "of which 0, and no one was ejected")
}

func TestBadFlagsAreOneSentence(t *testing.T) {
	for args, want := range map[string]string{
		"-speed=0":     "-speed is 0, but must be from 0.1 to 100",
		"-speed=NaN":   "-speed is NaN, but must be from 0.1 to 100",
		"-for=-1s":     "-for is -1s, but must be above 0",
		"-servers=1":   "-servers is 1, but must be from 2 to 50",
		"-callers=0":   "-callers is 0, but must be from 1 to 1000",
		"-what":        "flag provided but not defined: -what; -h lists the flags",
		"now":          `"now" is not a flag; -h lists the flags`,
		"-for=forever": `invalid value "forever" for flag -for: parse error; -h lists the flags`,
	} {
		var out bytes.Buffer
		require.EqualError(t, run(t.Context(), []string{args}, &out, false, newMemory()), want)
		assert.Empty(t, out.String())
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out, false, newMemory()), flag.ErrHelp)
	inOrder(t, out.String(), "shows a failing server leave", "-callers", "-for", "-servers", "-speed")
}

// The program's own network, for as long as one connection.
func TestLoopback(t *testing.T) {
	where := &loopback{}
	l, err := where.Listen()
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	conn, err := where.DialContext(t.Context(), l.Addr().Network(), l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func TestRows(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct {
		stats evenkeel.Stats
		part  float64
		want  string
	}{
		{evenkeel.Stats{State: evenkeel.StateActive}, 0.25, "  server 1   active               ███·········  25 %"},
		{evenkeel.Stats{State: evenkeel.StateSlowStart, Share: 0.37}, 0, "  server 1   slow start, 37 %     ············   0 %"},
		{evenkeel.Stats{State: evenkeel.StateEjectedByOutcome, Until: now.Add(1500 * time.Millisecond), Cause: io.ErrUnexpectedEOF}, 0,
			"  server 1   ejected, 1.5 s left  ············   0 %  unexpected EOF"},
		{evenkeel.Stats{State: evenkeel.StateEjectedByOutcome, Until: now.Add(-time.Second)}, 1, "  server 1   ejected, 0.0 s left  ████████████ 100 %"},
		{evenkeel.Stats{State: evenkeel.StateEjectedByHand, Cause: errors.New(strings.Repeat("x", 100))}, 0,
			"  server 1   ejected by hand      ············   0 %  " + strings.Repeat("x", 24) + "…"},
	} {
		got := row("server 1", c.stats, c.part, now)
		assert.Equal(t, c.want, got)
		assert.LessOrEqual(t, utf8.RuneCountInString(got), width)
	}
}
