package lbhttp_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// during makes calls from 64 workers while f runs, and returns the errors of those
// that failed, by id.
func (f *fleet) during(t *testing.T, rt http.RoundTripper, do func()) map[string]error {
	failed := map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var over atomic.Bool
	for range 64 {
		wg.Go(func() {
			for !over.Load() {
				i := f.calls.Add(1)
				if err := f.call(t, rt, i); err != nil {
					mu.Lock()
					failed[fmt.Sprint(i)] = err
					mu.Unlock()
				}
			}
		})
	}
	do()
	over.Store(true)
	wg.Wait()
	return failed
}

// stall gives a GET no answer until the client gives up.
func stall(_ http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// In a rolling restart of servers no call fails that may be sent twice, beside servers that refuse
// streams, others that say good-bye at once, others that stall, and one that is gone.
func TestEndToEndRollingRestart(t *testing.T) {
	for _, proto := range []string{"h2", "h2c", "https/1.1", "http/1.1"} {
		t.Run(strings.ReplaceAll(proto, "/", " "), func(t *testing.T) {
			f := newFleet()
			f.base.ForceAttemptHTTP2 = false
			f.base.Protocols = protocols(proto)
			var units []*unit
			var backends []string
			for range 3 {
				u := f.unit(t, proto, every(500, stall))
				units, backends = append(units, u), append(backends, u.url())
			}
			if strings.HasPrefix(proto, "h2") {
				var secure *tls.Config
				if proto == "h2" {
					secure = f.tls
				}
				backends = append(backends, startRaw(t, secure, refuseStream).url(), startRaw(t, secure, goAway).url())
			}
			scheme, _, _ := strings.Cut(units[0].url(), "://")
			backends = append(backends, scheme+"://"+refused(t))

			pool := newPool(t, evenkeel.Config{Ejection: evenkeel.Ejection{Base: time.Second, Max: time.Second}}, backends...)
			tr := newTransport(t, p2c.New(pool), lbhttp.Config{
				Base:  f.base,
				Retry: lbhttp.Retry{Attempts: 8, Share: 1, PerSecond: 1000, AttemptTimeout: 3 * time.Second},
				Hedge: lbhttp.Hedge{On: true, After: 250 * time.Millisecond, Share: 1},
			})
			failed := f.during(t, tr, func() {
				for i, u := range units {
					require.Eventually(t, func() bool { return f.calls.Load() > 500*int64(i+1) }, time.Minute, time.Millisecond)
					assert.NoError(t, u.restart())
				}
			})
			t.Logf("%d of %d calls failed; %+v", len(failed), f.calls.Load(), tr.Stats())
			for id, err := range failed {
				// A server that closes an idle connection does not see what is on its way
				// to it, and the client cannot know. http.Server.Shutdown does so over
				// HTTP/2 too. Only what must not be sent twice fails by that.
				var e *lbhttp.Error
				assert.True(t, errors.As(err, &e) && strings.HasSuffix(e.Stopped, "POST is not idempotent"), "call %s: %v", id, err)
			}
			require.Positive(t, tr.Stats().Attempts)
			f.settled(t, pool, tr)
		})
	}
}
