package lbhttp_test

import (
	"context"
	"errors"
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

// recorded is a Config whose rule is the default one and writes down what it says.
func recorded(cfg lbhttp.Config) (lbhttp.Config, func() []evenkeel.Outcome) {
	var mu sync.Mutex
	var said []evenkeel.Outcome
	cfg.Outcome = func(a lbhttp.Attempt) evenkeel.Outcome {
		how := lbhttp.DefaultOutcome(a)
		mu.Lock()
		defer mu.Unlock()
		said = append(said, how)
		return how
	}
	return cfg, func() []evenkeel.Outcome {
		mu.Lock()
		defer mu.Unlock()
		s := said
		said = nil
		return s
	}
}

const (
	success  = evenkeel.OutcomeSuccess
	failure  = evenkeel.OutcomeFailure
	deadline = evenkeel.OutcomeDeadline
	neutral  = evenkeel.OutcomeNeutral
)

func TestOutcomeByStatus(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		code := map[string]int{"/200": 200, "/302": 302, "/404": 404, "/421": 421, "/429": 429, "/500": 500, "/501": 501, "/503": 503}[r.URL.Path]
		w.WriteHeader(code)
	})
	pool := newPool(t, calm, s.addr)
	cfg, said := recorded(lbhttp.Config{})
	tr := newTransport(t, sqf.New(pool), cfg)
	for path, want := range map[string]evenkeel.Outcome{"/200": success, "/302": success, "/404": success, "/429": evenkeel.OutcomeOverloaded,
		"/421": failure, "/500": failure, "/501": failure, "/503": failure} {
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc"+path, nil))
		body(t, resp, err)
		assert.Equal(t, []evenkeel.Outcome{want}, said(), path)
	}
	assert.EqualValues(t, 4, stats(t, pool, s.addr).Failures)
	assert.Regexp(t, `answered (421|429|500|501|503) `, stats(t, pool, s.addr).LastError.Error())
}

func TestResponseThatBreaksOffIsAFailure(t *testing.T) {
	for _, serve := range []func(testing.TB, http.HandlerFunc) *server{serve, serveTLS} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		pool := newPool(t, calm, s.URL)
		cfg, said := recorded(lbhttp.Config{Base: s.Client().Transport})
		c := client(t, pool, cfg)
		resp, err := c.Get("http://example.com/")
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		require.Error(t, err)
		assert.Zero(t, pool.InFlight(s.URL), "a read error is an end")
		_ = resp.Body.Close()
		assert.Equal(t, []evenkeel.Outcome{failure}, said())
	}
}

func TestBodyClosedEarlyIsNoFailure(t *testing.T) {
	s := serve(t, endless)
	pool := newPool(t, calm, s.addr)
	cfg, said := recorded(lbhttp.Config{})
	resp, err := client(t, pool, cfg).Get("http://svc/")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, []evenkeel.Outcome{success}, said())
}

var errMine = errors.New("my own reason")

func TestF094CancelWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		pool := newPool(t, evenkeel.Config{}, "a", "b")
		require.NoError(t, pool.SetWeight("b", 0))
		cfg, said := recorded(lbhttp.Config{Base: n.base(0)})
		tr := newTransport(t, sqf.New(pool), cfg)
		for range 10 {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { time.Sleep(time.Second); cancel(errMine) }()
			_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			require.ErrorIs(t, err, errMine)
			require.Equal(t, []evenkeel.Outcome{neutral}, said())

			ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, errMine)
			_, err = tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			require.ErrorIs(t, err, errMine)
			require.Equal(t, []evenkeel.Outcome{deadline}, said())
			stop()

			// The base's own words do not matter, only the context does.
			ctx, cancel = context.WithCancelCause(t.Context())
			odd := newTransport(t, sqf.New(pool), lbhttp.Config{Outcome: cfg.Outcome, Base: roundTripper(func(*http.Request) (*http.Response, error) {
				cancel(errMine)
				return nil, errors.New("something odd")
			})})
			_, err = odd.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			require.ErrorContains(t, err, "something odd")
			require.Equal(t, []evenkeel.Outcome{neutral}, said())
		}
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestF096CancelDuringDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		slow := n.base(0)
		slow.DisableKeepAlives = true // every call dials
		dial := slow.DialContext
		slow.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return dial(ctx, network, addr)
		}
		n.start(t, "a:80", text("hello"), nil)
		pool := newPool(t, evenkeel.Config{}, "a")
		cfg, said := recorded(lbhttp.Config{Base: slow})
		tr := newTransport(t, sqf.New(pool), cfg)
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
				assert.Equal(t, "hello", body(t, resp, err), "the other caller is served")
			})
			go func() { time.Sleep(500 * time.Millisecond); cancel() }()
			_, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil))
			require.ErrorIs(t, err, context.Canceled)
			wg.Wait()
			require.ElementsMatch(t, []evenkeel.Outcome{neutral, success}, said())
		}
		st := stats(t, pool, "a")
		assert.Equal(t, evenkeel.StateActive, st.State)
		assert.Zero(t, st.Failures)
		time.Sleep(2 * time.Second) // dials that go on without their caller
		tr.CloseIdleConnections()
	})
}

func TestF097FirstOfThreeWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		for i, h := range []string{"a:80", "b:80", "c:80"} {
			n.start(t, h, func(w http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(time.Duration(i+1) * 10 * time.Millisecond):
				case <-r.Context().Done():
				}
			}, nil)
		}
		pool := newPool(t, evenkeel.Config{}, "a", "b", "c")
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: n.base(0)})
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if resp, err := tr.RoundTrip(request(t, ctx, "GET", "http://svc/", nil)); err == nil {
						cancel()
						_ = resp.Body.Close()
					}
				})
			}
			wg.Wait()
			cancel()
		}
		for b, s := range pool.All() {
			assert.Zero(t, s.Failures, b)
			assert.Equal(t, evenkeel.StateActive, s.State)
		}
		assertIdle(t, pool)
		tr.CloseIdleConnections()
	})
}

func TestF099CancelWhileTheBodyIsRead(t *testing.T) {
	s := serve(t, endless)
	pool := newPool(t, calm, s.addr)
	cfg, said := recorded(lbhttp.Config{})
	c := client(t, pool, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := c.Do(request(t, ctx, "GET", "http://svc/", nil))
	require.NoError(t, err)
	_, err = io.ReadFull(resp.Body, make([]byte, 1024))
	require.NoError(t, err)
	cancel()
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, context.Canceled)
	_ = resp.Body.Close()
	assert.Zero(t, pool.InFlight(s.addr))
	assert.Equal(t, []evenkeel.Outcome{neutral}, said())
	// The other half, a reset in mid-body, is TestResponseThatBreaksOffIsAFailure.
}

func TestClientTimeoutIsTheCallersDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/body" {
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}, nil)
		pool := newPool(t, calm, "a")
		cfg, said := recorded(lbhttp.Config{Base: n.base(0)})
		c := client(t, pool, cfg)
		c.Timeout = 30 * time.Millisecond
		for _, path := range []string{"/header", "/body"} {
			for range 5 {
				resp, err := c.Get("http://svc" + path)
				require.Equal(t, path == "/body", err == nil)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				var timeout interface{ Timeout() bool }
				require.ErrorAs(t, err, &timeout)
				assert.True(t, timeout.Timeout())
				require.Equal(t, []evenkeel.Outcome{deadline}, said(), path)
			}
		}
		assertIdle(t, pool)
	})
}

func TestCallersOwnFaultsAreNeutral(t *testing.T) {
	s := serve(t, status(200))
	pool := newPool(t, evenkeel.Config{}, s.addr)
	cfg, said := recorded(lbhttp.Config{})
	tr := newTransport(t, sqf.New(pool), cfg)
	for name, spoil := range map[string]func(*http.Request){
		"a body that fails": func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("x"), broken{}))
			r.ContentLength = -1
		},
		"a body that is too short":  func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("x")); r.ContentLength = 5 },
		"a header name with spaces": func(r *http.Request) { r.Header["a b"] = []string{"x"} },
		"a header value with a CR":  func(r *http.Request) { r.Header["A"] = []string{"x\ry"} },
		"a method with a space":     func(r *http.Request) { r.Method = "GET IT" },
		"a length without a body":   func(r *http.Request) { r.ContentLength = 5 },
		"an unknown length of none": func(r *http.Request) { r.ContentLength = -1 },
		"a trailer Content-Length":  trailer("content-length"),
		"a trailer Trailer":         trailer("Trailer"),
		"a trailer of encoding":     trailer("Transfer-Encoding"),
	} {
		req := request(t, t.Context(), "PUT", "http://svc/", nil)
		spoil(req)
		_, err := tr.RoundTrip(req)
		require.Error(t, err, name)
		assert.Equal(t, []evenkeel.Outcome{neutral}, said(), name)
	}
	assert.Zero(t, stats(t, pool, s.addr).Failures)
}

// trailer gives a request a body that is sent in chunks, and a trailer.
func trailer(key string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), -1
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
		r.Trailer = http.Header{key: nil}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errMine }

func TestF086OneOddReplyDoesNotTakeTheOnlyBackendOut(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/odd" {
			c, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(c, "what?\r\n\r\n")
			_ = c.Close()
		}
	})
	pool := newPool(t, evenkeel.Config{}, s.addr)
	c := client(t, pool, lbhttp.Config{})
	_, err := c.Get("http://svc/odd")
	require.Error(t, err)
	for range 100 {
		body(t, must(c.Get("http://svc/")), nil)
	}
	assert.EqualValues(t, 101, s.arrivals.Load())
}

func TestF132InformationalFromTheBase(t *testing.T) {
	pool := newPool(t, calm, "a")
	cfg, said := recorded(lbhttp.Config{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		return answer(r, 103, io.NopCloser(strings.NewReader(""))), nil
	})})
	tr := newTransport(t, sqf.New(pool), cfg)
	resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
	require.NoError(t, err)
	assert.Equal(t, 103, resp.StatusCode)
	assert.Equal(t, 1, pool.InFlight("a"))
	require.NoError(t, resp.Body.Close())
	assert.Zero(t, pool.InFlight("a"))
	assert.Equal(t, []evenkeel.Outcome{neutral}, said())
}
