package lbhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// attempts is an OnAttempt that writes down what it is told.
type attempts struct {
	mu  sync.Mutex
	all []lbhttp.Attempt
}

func (a *attempts) add(one lbhttp.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
}

func (a *attempts) take() []lbhttp.Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.all
	a.all = nil
	return all
}

// slow answers after d, unless the caller gives up before.
func slow(d time.Duration, then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			then(w, r)
		case <-r.Context().Done():
		}
	}
}

func TestOnAttemptIsToldOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "b:80", slow(time.Second, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
			w.(http.Flusher).Flush()
			time.Sleep(time.Second)
		}), nil)
		base := n.base(0)
		dial := base.DialContext
		base.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(time.Second)
			return dial(ctx, network, addr)
		}
		var seen attempts
		pool := newPool(t, calm, "a", "b")
		tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: base, OnAttempt: seen.add})
		req := request(t, t.Context(), "POST", "http://svc/", strings.NewReader("payload"))
		resp, err := tr.RoundTrip(req)
		assert.Equal(t, "hello", body(t, resp, err))
		all := seen.take()
		require.Len(t, all, 2)
		assert.Equal(t, "a", all[0].Backend)
		require.Error(t, all[0].Err)
		all[0].Err = nil
		assert.Equal(t, lbhttp.Attempt{Backend: "a", Request: req, Number: 1, Reason: lbhttp.ReasonFirst,
			Outcome: failure, Total: time.Second}, all[0])
		require.NotNil(t, all[1].Response)
		all[1].Response = nil
		assert.Equal(t, lbhttp.Attempt{Backend: "b", Request: req, Number: 2, Reason: lbhttp.ReasonUnsent, Status: 200,
			Outcome: success, ToConn: time.Second, ToHeader: 2 * time.Second, Total: 3 * time.Second}, all[1])
		assert.Equal(t, lbhttp.Stats{Requests: 1, Attempts: 2, Retries: map[lbhttp.Reason]uint64{lbhttp.ReasonUnsent: 1}}, tr.Stats())
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestOnAttemptIsToldHowLongTheLeaseTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", slow(time.Second, text("hello")), nil)
		var seen attempts
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 1}, "a")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0), OnAttempt: seen.add})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil)); err == nil {
					body(t, resp, nil)
				} else {
					assert.ErrorIs(t, err, evenkeel.ErrOverloaded)
				}
			})
		}
		wg.Wait()
		all := seen.take()
		require.Len(t, all, 2)
		assert.Zero(t, all[0].LeaseWait)
		assert.Equal(t, time.Second, all[1].LeaseWait)
		assert.Equal(t, time.Second, all[1].Total, "it runs from the lease")
		s := tr.Stats()
		assert.EqualValues(t, 3, s.Requests)
		assert.EqualValues(t, 2, s.Attempts, "one got no lease")
		tr.CloseIdleConnections()
	})
}

func TestStatsCountWhatTheBudgetRefuses(t *testing.T) {
	pool := newPool(t, calm, "a", "b")
	base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errMine })
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base, Retry: lbhttp.Retry{Share: -1, PerSecond: 0.1}})
	for range 5 {
		_, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		require.ErrorIs(t, err, errMine)
	}
	assert.Equal(t, lbhttp.Stats{Requests: 5, Attempts: 6, OverBudget: 5,
		Retries: map[lbhttp.Reason]uint64{lbhttp.ReasonBroken: 1}}, tr.Stats())
	assert.Equal(t, lbhttp.Stats{Retries: map[lbhttp.Reason]uint64{}}, lbhttp.NewTransport(nil).Stats())
}

// F194: a function of the user's that hears of an end may end others, and the very
// same one.
func TestF194FunctionsMayCloseBodies(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	var mu sync.Mutex
	var open []io.Closer
	closeAll := func() {
		mu.Lock()
		all := open
		mu.Unlock()
		for _, b := range all {
			_ = b.Close()
		}
	}
	outcome := func(a lbhttp.Attempt) evenkeel.Outcome {
		if a.Err == nil {
			return failure
		}
		closeAll()
		return lbhttp.DefaultOutcome(a)
	}
	for name, c := range map[string]struct {
		pool evenkeel.Config
		cfg  lbhttp.Config
	}{
		"Outcome":   {calm, lbhttp.Config{Outcome: outcome}},
		"OnAttempt": {calm, lbhttp.Config{OnAttempt: func(lbhttp.Attempt) { closeAll() }}},
		"OnEvent": {evenkeel.Config{OnEvent: func(evenkeel.Event) { closeAll() }, Ejection: evenkeel.Ejection{Consecutive: 1}},
			lbhttp.Config{Outcome: func(lbhttp.Attempt) evenkeel.Outcome { return failure }}},
	} {
		t.Run(name, func(t *testing.T) {
			open = nil
			pool := newPool(t, c.pool, s.addr, "b:80")
			tr := newTransport(t, firstOf(pool), c.cfg)
			ctx, cancel := context.WithCancel(t.Context())
			for range 3 {
				resp, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
				require.NoError(t, err)
				open = append(open, resp.Body)
			}
			cancel() // ends the attempts, each on a goroutine of its own
			require.Eventually(t, func() bool { return pool.InFlight(s.addr) == 0 }, time.Minute, time.Millisecond)
			closeAll()
		})
	}
}
