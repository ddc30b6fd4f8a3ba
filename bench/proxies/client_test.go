package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roundTrip is a proxy as a function: what it returns is the body, with the status.
type roundTrip func(r *http.Request) (int, string, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body, err := f(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func imagined(f roundTrip) target {
	return target{url: "http://proxy/", transport: f, log: func() string { return "its last words" }, close: func() {}}
}

// On virtual time the figures of a run are exact: of 100 requests by 4 clients each
// takes 10 ms, but for the two to the slow server.
func TestDriveMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counted atomic.Int64
		r, err := drive(t.Context(), imagined(func(r *http.Request) (int, string, error) {
			if strings.HasSuffix(r.URL.Path, "50") || strings.HasSuffix(r.URL.Path, "51") {
				time.Sleep(40 * time.Millisecond)
				return 200, "1", nil
			}
			time.Sleep(10 * time.Millisecond)
			return 200, "0", nil
		}), 2, 4, 100, func() { counted.Add(1) })
		require.NoError(t, err)
		assert.Equal(t, run{Sent: []int{98, 2}, Seconds: 0.27, P50: 10, P99: 40}, r)
		assert.EqualValues(t, 100, counted.Load())
	})
}

// Every request has a path of its own, since hashes look at it.
func TestDriveSendsDistinctPaths(t *testing.T) {
	seen := make(chan string, 10)
	_, err := drive(t.Context(), imagined(func(r *http.Request) (int, string, error) {
		seen <- r.URL.Path
		return 200, "0", nil
	}), 1, 3, 10, func() {})
	require.NoError(t, err)
	close(seen)
	distinct := map[string]bool{}
	for path := range seen {
		distinct[path] = true
	}
	assert.Len(t, distinct, 10)
}

func TestDriveEndsAtTheFirstFailure(t *testing.T) {
	for name, c := range map[string]struct {
		answer roundTrip
		want   string
	}{
		"status":          {func(*http.Request) (int, string, error) { return 502, "0", nil }, "the answer is Bad Gateway"},
		"another server":  {func(*http.Request) (int, string, error) { return 200, "2", nil }, `the answer "2" comes from none of the servers`},
		"another program": {func(*http.Request) (int, string, error) { return 200, "hello", nil }, `the answer "hello" comes from none`},
		"connection":      {func(*http.Request) (int, string, error) { return 0, "", io.ErrUnexpectedEOF }, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := drive(t.Context(), imagined(c.answer), 2, 4, 100, func() { assert.Fail(t, "a failed request counts as done") })
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "; the proxy wrote: its last words")
		})
	}
}

func TestDriveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := drive(ctx, imagined(func(r *http.Request) (int, string, error) {
		cancel()
		return 0, "", r.Context().Err()
	}), 2, 4, 100, func() {})
	assert.Equal(t, context.Canceled, err, "nothing about the proxy")
}
