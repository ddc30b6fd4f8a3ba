package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a buffer that several goroutines may write to.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func TestTheStory(t *testing.T) {
	var out text
	require.NoError(t, run(t.Context(), &out, time.Millisecond))
	said := out.b.String()
	at := 0
	for _, want := range []string{
		"source: 2 joined",
		"the fleet grows by two", "source: 2 joined",
		"the name server fails", "source: the lookup failed: 4 members are kept",
		"is back", "source: the source is believed again: 3 members; 1 left",
		"has forgotten everyone", "source: the answer is empty: 3 members are kept",
		"a new fleet", "source: the source is believed again: 3 members; 3 joined, 3 left",
	} {
		i := strings.Index(said[at:], want)
		require.GreaterOrEqual(t, i, 0, "%q after what came before in:\n%s", want, said)
		at += i + len(want)
	}
	assert.Equal(t, 6, strings.Count(said, " calls so far, 0 of them failed"), said)
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, run(ctx, &text{}, time.Hour), context.Canceled)
}
