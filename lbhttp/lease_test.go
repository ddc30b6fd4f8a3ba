package lbhttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// endless sends until the client goes away.
func endless(w http.ResponseWriter, r *http.Request) {
	block := make([]byte, 4096)
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func TestLeaseLastsUntilTheBodyEnds(t *testing.T) {
	s := serve(t, text("hello"))
	pool := newPool(t, calm, s.addr)
	c := client(t, pool, lbhttp.Config{})

	resp, err := c.Get("http://svc/")
	require.NoError(t, err)
	assert.Equal(t, 1, pool.InFlight(s.addr), "the header is no end")
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Zero(t, pool.InFlight(s.addr), "EOF is")
	require.NoError(t, resp.Body.Close())
	assert.Zero(t, pool.InFlight(s.addr))

	resp, err = c.Get("http://svc/")
	require.NoError(t, err)
	assert.Equal(t, 1, pool.InFlight(s.addr))
	require.NoError(t, resp.Body.Close())
	assert.Zero(t, pool.InFlight(s.addr), "Close is an end too")
}

func TestResponsesWithoutBodyEndAtOnce(t *testing.T) {
	for _, serve := range []func(testing.TB, http.HandlerFunc) *server{serve, serveTLS} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/204":
				w.WriteHeader(204)
			case "/304":
				w.WriteHeader(304)
			case "/head":
				w.Header().Set("Content-Length", "1000")
			}
		})
		pool := newPool(t, calm, s.URL)
		c := client(t, pool, lbhttp.Config{Base: s.Client().Transport})
		for path, method := range map[string]string{"/204": "GET", "/304": "GET", "/head": "HEAD", "/empty": "GET"} {
			resp, err := c.Do(request(t, t.Context(), method, "https://example.com"+path, nil))
			require.NoError(t, err)
			if path == "/head" {
				assert.EqualValues(t, 1000, resp.ContentLength)
			}
			if path != "/empty" || resp.ProtoMajor == 1 {
				assert.Zero(t, pool.InFlight(s.URL), "%s %s", method, path)
			}
			assert.Empty(t, body(t, resp, nil))
			assert.Zero(t, pool.InFlight(s.URL), "%s %s", method, path)
		}
	}
}

func TestF001CountsAfterRefusedDialsAndARemoval(t *testing.T) {
	hold := make(chan struct{})
	b := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			<-hold
		}
	})
	a := refused(t)
	pool := newPool(t, calm, a, b.addr)
	c := client(t, pool, lbhttp.Config{Retry: lbhttp.Retry{Off: true}})
	failed := 0
	for range 100 {
		resp, err := c.Get("http://svc/")
		if err != nil {
			failed++
			continue
		}
		body(t, resp, nil)
	}
	assert.Positive(t, failed)
	assertIdle(t, pool)

	c = client(t, pool, lbhttp.Config{})
	resp, err := c.Get("http://svc/held") // on b: a refuses
	require.NoError(t, err)
	require.NoError(t, pool.Replace(a))
	assert.Equal(t, 1, pool.InFlight(b.addr), "removed, and the lease stays open")
	require.NoError(t, pool.Replace(a, b.addr))
	assert.Equal(t, 1, pool.InFlight(b.addr), "back while the lease is open: the same backend")
	close(hold)
	body(t, resp, nil)
	assertIdle(t, pool)
}

func TestF004BodyClosedTwice(t *testing.T) {
	s := serve(t, text("hello"))
	pool := newPool(t, calm, s.addr)
	c := client(t, pool, lbhttp.Config{})
	for range 100 {
		resp, err := c.Get("http://svc/")
		body(t, resp, err) // closes once
		assert.NoError(t, resp.Body.Close())
		require.Zero(t, pool.InFlight(s.addr))
	}
	for range 100 {
		resp, err := c.Get("http://svc/")
		require.NoError(t, err)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { assert.NoError(t, resp.Body.Close()) })
		}
		wg.Wait()
		require.Zero(t, pool.InFlight(s.addr))
	}
}

func TestF006CancelBetweenPickAndSend(t *testing.T) {
	s := serve(t, text("hello"))
	pool := newPool(t, evenkeel.Config{}, s.addr)
	cancel := func() {}
	lb := evenkeel.NewDispatcher(pool, first{then: func() { cancel() }})
	tr := newTransport(t, lb, lbhttp.Config{})
	for range 1000 {
		ctx, stop := context.WithCancel(t.Context())
		cancel = stop
		_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, pool.InFlight(s.addr))
		stop()
	}
	st := stats(t, pool, s.addr)
	assert.Zero(t, st.Failures)
	assert.Equal(t, evenkeel.StateActive, st.State)
}

func TestF007AbandonedBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", endless, nil)
		pool := newPool(t, calm, "a")
		c := client(t, pool, lbhttp.Config{Base: n.base(0)})
		begin := func(ctx context.Context) *http.Response {
			resp, err := c.Do(request(t, ctx, "GET", "http://svc/", nil))
			require.NoError(t, err)
			_, err = io.ReadFull(resp.Body, make([]byte, 1024))
			require.NoError(t, err)
			require.Equal(t, 1, pool.InFlight("a"))
			return resp
		}

		require.NoError(t, begin(t.Context()).Body.Close())
		assert.Zero(t, pool.InFlight("a"), "closed")

		ctx, cancel := context.WithCancel(t.Context())
		resp := begin(ctx)
		cancel()
		synctest.Wait()
		assert.Zero(t, pool.InFlight("a"), "cancelled without a Close")
		_ = resp.Body.Close()

		// Neither: the caller's breach. The end of the context still frees it.
		ctx, cancel = context.WithCancel(t.Context())
		begin(ctx)
		time.Sleep(time.Hour)
		assert.Equal(t, 1, pool.InFlight("a"))
		cancel()
		synctest.Wait()
		assert.Zero(t, pool.InFlight("a"))
		assert.Zero(t, stats(t, pool, "a").Failures)
	})
}

func TestF011RetryHops(t *testing.T) {
	a, b, c := serve(t, status(503)), serve(t, reset), serve(t, text("hello"))
	pool := newPool(t, calm, a.addr, b.addr, c.addr)
	cl := client(t, pool, lbhttp.Config{Retry: lbhttp.Retry{Statuses: []int{503}, PerSecond: 1000}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				resp, err := cl.Get("http://svc/")
				if !assert.NoError(t, err) {
					return
				}
				got, _ := io.ReadAll(resp.Body)
				assert.Equal(t, "hello", string(got))
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	assertIdle(t, pool)
	assert.EqualValues(t, 200, c.arrivals.Load())
	for range 25 { // one at a time, so that the counts of three backends can be added up
		resp, err := cl.Get("http://svc/")
		require.NoError(t, err)
		assert.Equal(t, 1, pool.InFlight(a.addr)+pool.InFlight(b.addr)+pool.InFlight(c.addr), "of all attempts only the last is open")
		_ = resp.Body.Close()
	}
	assertIdle(t, pool)
}

func TestF012CountsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		var hits [2]atomic.Int64
		serve := func(i int, d time.Duration) http.HandlerFunc {
			return func(http.ResponseWriter, *http.Request) { hits[i].Add(1); time.Sleep(d) }
		}
		n.start(t, "a:80", serve(0, time.Second), nil)
		n.start(t, "b:80", serve(1, 10*time.Millisecond), nil)
		pool := newPool(t, evenkeel.Config{}, "a", "b")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0)})
		var wg sync.WaitGroup
		end := time.Now().Add(5 * time.Second)
		for range 20 {
			wg.Go(func() {
				for time.Now().Before(end) {
					resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
					if !assert.NoError(t, err) {
						return
					}
					_ = resp.Body.Close()
				}
			})
		}
		time.Sleep(500 * time.Millisecond)
		seen := pool.InFlight("a")
		wg.Wait()
		assert.Positive(t, seen)
		assert.Greater(t, hits[1].Load(), 10*hits[0].Load())
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestF019OneTurnForEachAttempt(t *testing.T) {
	a, b := serve(t, text("a")), serve(t, text("b"))
	pool := newPool(t, evenkeel.Config{OnEvent: func(evenkeel.Event) {}}, a.addr, b.addr)
	c := &http.Client{Transport: newTransport(t, roundrobin.New(pool), lbhttp.Config{Outcome: lbhttp.DefaultOutcome})}
	for range 1000 {
		body(t, must(c.Get("http://svc/")), nil)
		for range pool.All() { // looking takes no turn
			break
		}
	}
	assert.EqualValues(t, 500, a.arrivals.Load())
	assert.EqualValues(t, 500, b.arrivals.Load())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A backend that refuses at once looks idle. Retries hide its failures and
// ejection ends them. (The other cases of this kind are not about HTTP calls: F037
// is for a policy that goes by latency, F039 and F041 are for probes.)
func TestF036BlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		for _, h := range []string{"b:80", "c:80", "d:80", "e:80"} {
			n.start(t, h, func(http.ResponseWriter, *http.Request) { time.Sleep(200 * time.Millisecond) }, nil)
		}
		for name, cfg := range map[string]struct {
			pool  evenkeel.Config
			retry lbhttp.Retry
			most  float64 // share that may fail
		}{
			"ejection and retries": {evenkeel.Config{}, lbhttp.Retry{}, 0},
			"ejection alone":       {evenkeel.Config{}, lbhttp.Retry{Off: true}, 0.05},
		} {
			pool := newPool(t, cfg.pool, "a", "b", "c", "d", "e")
			tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0), Retry: cfg.retry})
			var calls, failed atomic.Int64
			var wg sync.WaitGroup
			end := time.Now().Add(5 * time.Second)
			for range 100 {
				wg.Go(func() {
					for time.Now().Before(end) {
						calls.Add(1)
						resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
						if err != nil {
							failed.Add(1)
							continue
						}
						_ = resp.Body.Close()
					}
				})
			}
			wg.Wait()
			share := float64(failed.Load()) / float64(calls.Load())
			assert.LessOrEqual(t, share, cfg.most, "%s: %d of %d failed", name, failed.Load(), calls.Load())
			assert.Greater(t, calls.Load(), int64(2000), name)
			assertIdle(t, pool)
			tr.CloseIdleConnections()
		}
	})
}

func TestPanicAndGoexitInTheBase(t *testing.T) {
	pool := newPool(t, calm, "a")
	closed := 0
	req := func() *http.Request {
		return request(t, t.Context(), "POST", "http://svc/", &countingBody{Reader: strings.NewReader("x"), closed: &closed})
	}
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: roundTripper(func(*http.Request) (*http.Response, error) { panic("boom") })})
	assert.PanicsWithValue(t, "boom", func() { _, _ = tr.RoundTrip(req()) })
	assertIdle(t, pool)
	assert.Equal(t, 1, closed, "the request body is closed all the same")

	tr = newTransport(t, sqf.New(pool), lbhttp.Config{Base: roundTripper(func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil })})
	var wg sync.WaitGroup
	r := req()
	wg.Go(func() { _, _ = tr.RoundTrip(r) })
	wg.Wait()
	assertIdle(t, pool)
	assert.Equal(t, 2, closed)

	tr = newTransport(t, sqf.New(pool), lbhttp.Config{
		Base:    roundTripper(func(r *http.Request) (*http.Response, error) { return answer(r, 200, http.NoBody), nil }),
		Outcome: func(lbhttp.Attempt) evenkeel.Outcome { panic("a rule") },
	})
	assert.PanicsWithValue(t, "a rule", func() { _, _ = tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil)) })
	assertIdle(t, pool)
}

// countingBody fails on a read after Close and counts closes.
type countingBody struct {
	io.Reader
	closed *int
	shut   bool
}

func (b *countingBody) Read(p []byte) (int, error) {
	if b.shut {
		return 0, errors.New("read after close")
	}
	return b.Reader.Read(p)
}

func (b *countingBody) Close() error {
	b.shut = true
	*b.closed++
	return nil
}

// A base that pays no heed to the context does not hold the lease.
func TestContextEndsTheLeaseUnderADeafBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, calm, "a")
		hold := make(chan struct{})
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			<-hold
			return answer(r, 200, http.NoBody), nil
		})})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			done <- err
		}()
		synctest.Wait()
		assert.Equal(t, 1, pool.InFlight("a"))
		cancel()
		synctest.Wait()
		assert.Zero(t, pool.InFlight("a"))
		close(hold)
		assert.NoError(t, <-done)
		assertIdle(t, pool)
	})
}

// A place is taken until the body is closed, and handed to who waits for it.
func TestLimitsHoldUntilTheBodyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", text("hello"), nil)
		pool := newPool(t, evenkeel.Config{MaxInFlight: 1, Backlog: 1}, "a")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0)})
		get := func() (*http.Response, error) {
			return tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		}
		first, err := get()
		require.NoError(t, err)
		second := make(chan *http.Response)
		go func() { second <- must(get()) }()
		synctest.Wait()
		_, err = get()
		require.ErrorIs(t, err, evenkeel.ErrOverloaded)
		select {
		case <-second:
			assert.Fail(t, "the place was taken")
		default:
		}
		body(t, first, nil)
		body(t, <-second, nil)
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestNoBackendAndBadRequests(t *testing.T) {
	pool := newPool(t, calm)
	tr := newTransport(t, sqf.New(pool), lbhttp.Config{})
	closed := 0
	req := request(t, t.Context(), "POST", "http://svc/", &countingBody{Reader: strings.NewReader("x"), closed: &closed})
	_, err := tr.RoundTrip(req)
	assert.ErrorIs(t, err, evenkeel.ErrNoBackends)
	assert.Equal(t, 1, closed, "the body is closed whatever happens")

	for want, spoil := range map[string]func(*http.Request){
		"lbhttp: nil Request.URL":                   func(r *http.Request) { r.URL = nil },
		"lbhttp: nil Request.Header":                func(r *http.Request) { r.Header = nil },
		`lbhttp: unsupported protocol scheme "ftp"`: func(r *http.Request) { r.URL.Scheme = "ftp" },
		"lbhttp: no Host in request URL; it names the service, as in http://orders/items": func(r *http.Request) { r.URL.Host = "" },
	} {
		closed = 0
		req := request(t, t.Context(), "POST", "http://svc/", &countingBody{Reader: strings.NewReader("x"), closed: &closed})
		spoil(req)
		_, err := tr.RoundTrip(req)
		assert.EqualError(t, err, want)
		assert.Equal(t, 1, closed)
	}

	none := (*sqf.Balancer[string])(nil)
	for _, tr := range []*lbhttp.Transport{{}, lbhttp.NewTransport(nil), lbhttp.NewTransport(none), lbhttp.NewTransport(new(sqf.Balancer[string]))} {
		_, err = tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
		tr.CloseIdleConnections()
	}
	for _, lb := range []evenkeel.Balancer[string]{nil, none} {
		_, err = lbhttp.NewWith(lb, lbhttp.Config{})
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
	}
}

// As the package comment says, a request in flight has no goroutine of lbhttp. The
// bubble does not end before those that the end of the context started have ended.
func TestGoroutines(t *testing.T) {
	const n = 100
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, calm, "a")
		var outcomes atomic.Int64
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{
			Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				return answer(r, 200, io.NopCloser(strings.NewReader("x"))), nil
			}),
			Outcome: func(lbhttp.Attempt) evenkeel.Outcome { outcomes.Add(1); return neutral },
		})
		ctx, cancel := context.WithCancel(t.Context())
		before := runtime.NumGoroutine()
		for range n {
			_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			require.NoError(t, err)
		}
		require.Equal(t, n, pool.InFlight("a"))
		assert.Less(t, runtime.NumGoroutine(), before+n, "the runtime may have started some of its own")
		cancel()
		synctest.Wait()
		assertIdle(t, pool)
		assert.EqualValues(t, n, outcomes.Load())
	})
}
