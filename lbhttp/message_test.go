package lbhttp_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// The transport has no timeout of its own that could end with RoundTrip: a
// base's limit for the header leaves the body alone (F119).
func TestF119SlowBodyIsReadWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		chunk := bytes.Repeat([]byte("x"), 512<<10)
		n.start(t, "a:80", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			for range 20 {
				time.Sleep(100 * time.Millisecond)
				_, _ = w.Write(chunk)
			}
		}, nil)
		base := n.base(0)
		base.ResponseHeaderTimeout = time.Second
		tr := newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: base})
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		assert.Len(t, body(t, resp, err), 10<<20)
		tr.CloseIdleConnections()
	})
}

func TestF131InformationalResponses(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			for _, code := range []int{100, 102, 103, 103, 103} {
				w.WriteHeader(code)
			}
			_, _ = io.WriteString(w, "final")
		})
		cfg, said := recorded(lbhttp.Config{Base: s.Client().Transport})
		c := client(t, newPool(t, calm, s.URL), cfg)
		var codes []int
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			codes = append(codes, code)
			return nil
		}})
		resp, err := c.Do(request(t, ctx, "GET", "http://example.com/", nil))
		assert.Equal(t, "final", body(t, resp, err))
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, []int{100, 102, 103, 103, 103}, codes)
		assert.Equal(t, []evenkeel.Outcome{success}, said())
	})
}

func TestF131LatencyIsThatOfTheFinalHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newMemNet()
		n.start(t, "a:80", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(103)
			time.Sleep(time.Second)
			w.WriteHeader(200)
			w.(http.Flusher).Flush()
			time.Sleep(time.Minute)
		}, nil)
		var header time.Duration
		tr := newTransport(t, sqf.New(newPool(t, calm, "a")), lbhttp.Config{Base: n.base(0), Outcome: func(a lbhttp.Attempt) evenkeel.Outcome {
			header = a.ToHeader
			return success
		}})
		resp, err := tr.RoundTrip(request(t, t.Context(), "GET", "http://svc/", nil))
		body(t, resp, err)
		assert.Equal(t, time.Second, header, "neither the 103 nor the body")
		tr.CloseIdleConnections()
	})
}

func TestF131ExpectContinue(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/no" {
				w.WriteHeader(http.StatusExpectationFailed)
				return
			}
			echo(w, r)
		})
		base := s.Client().Transport.(*http.Transport).Clone()
		base.ExpectContinueTimeout = time.Hour
		pool := newPool(t, calm, s.URL)
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: base})
		post := func(path string, b io.Reader) (*http.Response, error) {
			req := request(t, t.Context(), "POST", "http://example.com"+path, b)
			req.Header.Set("Expect", "100-continue")
			return tr.RoundTrip(req)
		}
		resp, err := post("/yes", strings.NewReader("payload"))
		assert.Equal(t, "payload", body(t, resp, err))
		closed := 0
		never := &countingBody{Reader: io.MultiReader(strings.NewReader("payload")), closed: &closed}
		resp, err = post("/no", never)
		body(t, resp, err)
		assert.Equal(t, 417, resp.StatusCode)
		assertIdle(t, pool)
	})
}

func TestTrailersGzipAndLengths(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Length", fmt.Sprint(r.ContentLength, " ", len(b), " sum=", r.Trailer.Get("Sum")))
			w.Header().Set("Trailer", "Sum")
			if r.Header.Get("Accept-Encoding") == "gzip" {
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = z.Write(b)
				_ = z.Close()
			} else {
				_, _ = w.Write(b)
			}
			w.Header().Set("Sum", "42")
		})
		pool := newPool(t, calm, s.URL)
		tr := newTransport(t, sqf.New(pool), lbhttp.Config{Base: s.Client().Transport})
		do := func(b io.Reader, change func(*http.Request)) (*http.Response, string) {
			req := request(t, t.Context(), "POST", "http://example.com/", b)
			if change != nil {
				change(req)
			}
			resp, err := tr.RoundTrip(req)
			return resp, body(t, resp, err)
		}
		resp, got := do(strings.NewReader("payload"), nil)
		assert.Equal(t, "payload", got)
		assert.True(t, resp.Uncompressed)
		assert.Equal(t, "7 7 sum=", resp.Header.Get("X-Length"))
		assert.Equal(t, "42", resp.Trailer.Get("Sum"))

		resp, got = do(io.MultiReader(strings.NewReader("payload")), func(r *http.Request) {
			r.Header.Set("Accept-Encoding", "identity")
			r.Trailer = http.Header{"Sum": {"7"}}
		})
		assert.Equal(t, "payload", got)
		assert.False(t, resp.Uncompressed)
		assert.Equal(t, "-1 7 sum=7", resp.Header.Get("X-Length"))

		resp, got = do(io.NopCloser(strings.NewReader("payload")), func(r *http.Request) { r.ContentLength = 7 })
		assert.Equal(t, "payload", got)
		assert.Equal(t, "7 7 sum=", resp.Header.Get("X-Length"))
		resp, _ = do(nil, nil)
		assert.Equal(t, "0 0 sum=", resp.Header.Get("X-Length"))
		resp, _ = do(http.NoBody, nil)
		assert.Equal(t, "0 0 sum=", resp.Header.Get("X-Length"))
		assertIdle(t, pool)
	})
}

func TestStreamingBothWays(t *testing.T) {
	s := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			fmt.Fprintln(w, strings.ToUpper(lines.Text()))
			w.(http.Flusher).Flush()
		}
	})
	pool := newPool(t, calm, refused(t), s.addr)
	tr := newTransport(t, firstOf(pool), lbhttp.Config{Base: s.Client().Transport})
	out, in := io.Pipe()
	resp, err := tr.RoundTrip(request(t, t.Context(), "POST", "https://example.com/", out))
	require.NoError(t, err, "the first backend refuses, and nothing of the stream is lost")
	lines := bufio.NewReader(resp.Body)
	for _, word := range []string{"one", "two", "three"} {
		fmt.Fprintln(in, word)
		got, err := lines.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, strings.ToUpper(word)+"\n", got)
		assert.Equal(t, 1, pool.InFlight(s.addr))
	}
	require.NoError(t, in.Close())
	_, err = lines.ReadByte()
	assert.ErrorIs(t, err, io.EOF)
	require.NoError(t, resp.Body.Close())
	assertIdle(t, pool)
}

func TestTraceOfTheCaller(t *testing.T) {
	both(t, func(t *testing.T, serve func(http.HandlerFunc) *server) {
		s := serve(text("x"))
		c := client(t, newPool(t, calm, s.URL), lbhttp.Config{Base: s.Client().Transport})
		for _, method := range []string{"GET", "POST"} {
			var got, first int
			var to string
			wrote := make(chan error, 8) // the request may be answered before it is reported as written
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn:              func(i httptrace.GotConnInfo) { got, to = got+1, i.Conn.RemoteAddr().String() },
				WroteRequest:         func(i httptrace.WroteRequestInfo) { wrote <- i.Err },
				GotFirstResponseByte: func() { first++ },
			})
			resp, err := c.Do(request(t, ctx, method, "http://example.com/", nil))
			body(t, resp, err)
			assert.NoError(t, <-wrote)
			assert.Empty(t, wrote)
			assert.Equal(t, []int{1, 1}, []int{got, first}, method)
			assert.Equal(t, s.addr, to, "the address of the backend")
		}
	})
}
