package lbhttp_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/evenkeel-go/evenkeel/lbhttp"
)

// F188: the error of a connection that the server had closed while it was idle says
// that nothing of the request was sent. http.Transport does not export it.
func TestF188ClosedWhileIdle(t *testing.T) {
	s := serve(t, echo)
	pool := newPool(t, calm, "a:80", s.addr)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	for text, ok := range map[string]bool{"http: server closed idle connection": true, "EOF": false} {
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "a:80" {
				return base.RoundTrip(r)
			}
			_ = r.Body.Close()
			return nil, errors.New(text)
		})})
		resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "http://svc/", strings.NewReader("payload")))
		if ok {
			assert.Equal(t, "payload", body(t, resp, err))
			assert.Equal(t, map[lbhttp.Reason]uint64{lbhttp.ReasonUnsent: 1}, tr.Stats().Retries)
		} else {
			assert.ErrorContains(t, err, "the request may have been received")
		}
		assertIdle(t, pool)
	}
}
