package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBadFlagsEndWithStatusTwo(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, 2, program(t.Context(), []string{"-clients", "0"}, &out, &errs, false))
	assert.Equal(t, "proxies: -clients is 0; it must be from 1 to 512\n", errs.String())
	assert.Empty(t, out.String())
}

func TestHelpSaysWhatThereIs(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, 0, program(t.Context(), []string{"-h"}, &out, &errs, false))
	assert.Empty(t, errs.String())
	for _, word := range []string{"  slow ", "  capacity ", "-requests", "-capacity-requests", "-speed", "-clients", "-repeat", "-products",
		"-abreast", "-short", "-check", "-json", "-doc", "-note"} {
		assert.Contains(t, out.String(), word)
	}
}

// An interrupt ends the program with the shell's status for it, before the first
// proxy is started as well.
func TestInterruptEndsWithStatus130(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	assert.Equal(t, 130, program(ctx, []string{"-products", ""}, &out, &errs, false))
	assert.True(t, strings.HasSuffix(errs.String(), "proxies: interrupted; the proxies are stopped\n"), errs.String())
	assert.Empty(t, out.String())
}
