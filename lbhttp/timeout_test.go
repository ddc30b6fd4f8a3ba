package lbhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

func TestAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", slow(time.Hour, text("late")), nil)
		n.start(t, "b:80", slow(time.Second, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.(http.Flusher).Flush()
			time.Sleep(time.Minute) // the body may take as long as it likes
			_, _ = io.WriteString(w, "hello")
		}), nil)
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: n.base(0), Retry: lbhttp.Retry{AttemptTimeout: 2 * time.Second}})
		send := func(method string) (string, time.Duration, error) {
			begun := time.Now()
			resp, err := tr.RoundTrip(request(t, t.Context(), method, "http://svc/", strings.NewReader("x")))
			if err != nil {
				return "", time.Since(begun), err
			}
			return body(t, resp, nil), time.Since(begun), nil
		}
		got, took, err := send("GET")
		require.NoError(t, err)
		assert.Equal(t, "hello", got)
		assert.Equal(t, 2*time.Second+time.Second+time.Minute, took)
		assert.EqualValues(t, 1, stats(t, pool, "a").Failures, "a timeout of the library's is a failure of the backend")

		// It may have been received.
		_, took, err = send("POST")
		var e *lbhttp.Error
		require.ErrorAs(t, err, &e)
		assert.True(t, e.Timeout())
		assert.EqualError(t, err, "lbhttp: backend a: no response header within 2s (lbhttp.Retry.AttemptTimeout) "+
			"(the request may have been received, and POST is not idempotent)")
		assert.Equal(t, 2*time.Second, took)

		// Without a connection it has not been.
		n.mu.Lock()
		n.black["a:80"] = true
		n.mu.Unlock()
		tr.CloseIdleConnections()
		got, _, err = send("POST")
		require.NoError(t, err)
		assert.Equal(t, "hello", got)
		assert.Equal(t, map[lbhttp.Reason]uint64{lbhttp.ReasonTimeout: 1, lbhttp.ReasonUnsent: 1}, tr.Stats().Retries)

		// The last attempt is bounded too.
		require.NoError(t, pool.Replace("a"))
		_, took, err = send("GET")
		require.Error(t, err)
		assert.Equal(t, 2*time.Second, took)
		assertIdle(t, pool)
		tr.CloseIdleConnections()
		time.Sleep(2 * time.Hour) // the handler that nobody waits for
	})
}

func TestAttemptTimeoutIsChecked(t *testing.T) {
	_, err := lbhttp.NewWith(firstOf(newPool(t, calm, "a")), lbhttp.Config{Retry: lbhttp.Retry{AttemptTimeout: -1}})
	require.ErrorIs(t, err, evenkeel.ErrBadConfig)
	assert.ErrorContains(t, err, "Retry.AttemptTimeout")
}
