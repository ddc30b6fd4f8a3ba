package lbhttp_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

var errInBody = errors.New("the body says so")

func TestTracker(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		a, b := serve(status(503)), serve(text("failed"))
		pool := newPool(t, calm, a.URL, b.URL)
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: a.Client().Transport, Retry: lbhttp.Retry{Statuses: []int{503}}})
		ctx, tracker := lbhttp.Track(t.Context())
		assert.Empty(t, tracker.Backend())
		assert.Zero(t, tracker.Attempts())
		assert.False(t, tracker.Report(failure, errInBody), "there is no response yet")

		resp, err := tr.RoundTrip(request(t, ctx, "GET", "http://example.com/", nil))
		require.NoError(t, err)
		assert.Equal(t, b.URL, tracker.Backend())
		assert.Equal(t, 2, tracker.Attempts())
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, 1, pool.InFlight(b.URL), "until it is closed")
		assert.True(t, tracker.Report(success, nil))
		assert.True(t, tracker.Report(failure, errInBody), "the last one counts")
		require.NoError(t, resp.Body.Close())
		assert.False(t, tracker.Report(success, nil), "it is over")
		assert.EqualValues(t, 1, stats(t, pool, b.URL).Failures)
		assert.Equal(t, errInBody, stats(t, pool, b.URL).LastError)
		assert.Equal(t, b.URL, tracker.Backend())

		// There may be nothing to read.
		resp, err = tr.RoundTrip(request(t, ctx, "HEAD", "http://example.com/", nil))
		require.NoError(t, err)
		assert.True(t, tracker.Report(failure, errInBody))
		require.NoError(t, resp.Body.Close())
		assert.EqualValues(t, 2, stats(t, pool, b.URL).Failures)
		assertIdle(t, pool)
	})
}

// F190: a backend whose failures stand in its bodies, and are fast, does not draw the
// calls to itself if the caller says what it found.
func TestF190VerdictInTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		a := n.start(t, "a:80", text("failed"), nil)
		n.start(t, "b:80", slow(20*time.Millisecond, text("well")), nil)
		pool := newPool(t, evenkeel.Config{}, "a", "b")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0)})
		for range 200 {
			ctx, tracker := lbhttp.Track(t.Context())
			resp, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			if string(got) == "failed" {
				tracker.Report(failure, errInBody)
			}
			require.NoError(t, resp.Body.Close())
		}
		assert.LessOrEqual(t, a.calls.Load(), int64(100), "its share at most")
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}
