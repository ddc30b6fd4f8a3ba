//go:build !race

package lbhttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// fixed is an HTTP server that answers every request with the same bytes and
// allocates nothing for it. Requests must be "\r\n\r\n" long, plus body bytes.
func fixed(t testing.TB, body int) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerAll(c, body)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func answerAll(c net.Conn, body int) {
	defer c.Close()
	r := bufio.NewReader(c)
	reply := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
	for {
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				return
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := r.Discard(body); err != nil {
			return
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

// mallocs is how many objects one call of f allocates, everything that it makes
// others do included.
func mallocs(f func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const n = 500
	for range 100 {
		f()
	}
	least := -1.0
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range n {
			f()
		}
		runtime.ReadMemStats(&after)
		if m := float64(after.Mallocs-before.Mallocs) / n; least < 0 || m < least {
			least = m
		}
	}
	return least
}

// At most 3 allocations more than the bare transport, 6 where the context can be
// cancelled.
func TestAllocations(t *testing.T) {
	const payload = "payload"
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name, method string
		ctx          context.Context
		most         float64
	}{
		{"GET", "GET", context.Background(), 3},
		{"GET with a context that can be cancelled", "GET", cancellable, 6},
		{"POST", "POST", context.Background(), 3},
		{"POST with a context that can be cancelled", "POST", cancellable, 6},
	} {
		sent := 0
		if c.method == "POST" {
			sent = len(payload)
		}
		addr := fixed(t, sent)
		scratch := make([]byte, 64)
		send := func(rt http.RoundTripper, url string) func() {
			return func() {
				var b io.Reader
				if sent > 0 {
					b = strings.NewReader(payload)
				}
				req, _ := http.NewRequestWithContext(c.ctx, c.method, url, b)
				resp, err := rt.RoundTrip(req)
				if err != nil {
					panic(err)
				}
				for err == nil {
					_, err = resp.Body.Read(scratch)
				}
				_ = resp.Body.Close()
			}
		}
		bare := &http.Transport{}
		pool := newPool(t, evenkeel.Config{}, addr, "unused:80")
		require.NoError(t, pool.SetWeight("unused:80", 0))
		lb := newTransport(t, p2c.New(pool), lbhttp.Config{Base: &http.Transport{}})
		base := mallocs(send(bare, "http://"+addr))
		with := mallocs(send(lb, "http://"+addr))
		t.Logf("%s: %.2f allocations, the bare transport %.2f", c.name, with, base)
		assert.LessOrEqual(t, with-base, c.most+0.1, c.name)
		bare.CloseIdleConnections()
		assertIdle(t, pool)
	}
}
