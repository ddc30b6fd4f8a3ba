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
)

// F180: a stream that begins well is evidence at once, not only at its end.
func TestF180StreamThatBeginsWellPassesTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sick bool
		stream := func(r *http.Request) (*http.Response, error) {
			if sick {
				return nil, errMine
			}
			body, end := io.Pipe()
			go func() { <-r.Context().Done(); _ = end.CloseWithError(errors.New("over")) }()
			return answer(r, 200, body), nil
		}
		pool := newPool(t, evenkeel.Config{SlowStart: evenkeel.SlowStart{Off: true}}, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: roundTripper(stream), Retry: lbhttp.Retry{Off: true}})
		open := func() error {
			resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
			if err == nil {
				t.Cleanup(func() { _ = resp.Body.Close() })
			}
			return err
		}
		sick = true
		for stats(t, pool, "a").State != evenkeel.StateEjectedByOutcome {
			require.ErrorIs(t, open(), errMine)
		}
		sick = false
		time.Sleep(time.Until(stats(t, pool, "a").Until))
		for range 3 {
			require.NoError(t, open())
		}
		assert.Equal(t, evenkeel.StateActive, stats(t, pool, "a").State, "while its stream goes on")
		assert.Positive(t, pool.InFlight("a"))
	})
}
