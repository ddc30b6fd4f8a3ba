//go:build unix

package lbhttpbench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// fixed is an HTTP/1.1 server that answers every request with the same bytes and
// allocates nothing for it.
func fixed(b *testing.B, body int, keepAlive bool) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c, body, keepAlive)
		}
	}()
	return l.Addr().String()
}

func answer(c net.Conn, body int, keepAlive bool) {
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
		if _, err := c.Write(reply); err != nil || !keepAlive {
			return
		}
	}
}

const payload = "payload"

// cpu is the processor time that this process has used, in user mode and in the
// kernel.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRoundTrip: one operation is one request over each of the two. time is
// the time through lbhttp over that of the bare transport, by the lower quartile
// of many short turns; cpu is the same for the processor time of client and server
// together, which other load on the machine disturbs less; +allocs is what lbhttp
// allocates more for a request.
func BenchmarkRoundTrip(b *testing.B) {
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		method    string
		ctx       context.Context
		keepAlive bool
	}{
		{"GET", context.Background(), true},
		{"GET", cancellable, true},
		{"POST", context.Background(), true},
		{"POST", cancellable, true},
		{"GET", context.Background(), false},
		{"GET", cancellable, false},
	} {
		name := fmt.Sprintf("%s/cancellable=%t/keepalive=%t", c.method, c.ctx.Done() != nil, c.keepAlive)
		b.Run(name, func(b *testing.B) {
			sent := 0
			if c.method == http.MethodPost {
				sent = len(payload)
			}
			addr := fixed(b, sent, c.keepAlive)
			pool, err := evenkeel.NewPool(evenkeel.Config{}, addr, "localhost:1")
			if err != nil {
				b.Fatal(err)
			}
			if err := pool.SetWeight("localhost:1", 0); err != nil {
				b.Fatal(err)
			}
			settings := &http.Transport{DisableKeepAlives: !c.keepAlive}
			bare := settings.Clone()
			lb, err := lbhttp.NewWith(p2c.New(pool), lbhttp.Config{Base: settings})
			if err != nil {
				b.Fatal(err)
			}
			defer bare.CloseIdleConnections()
			defer lb.CloseIdleConnections()

			scratch := make([]byte, 64)
			run := func(rt http.RoundTripper, n int) (took, busy time.Duration, mallocs uint64) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				begun, used := time.Now(), cpu(b)
				for range n {
					var body io.Reader
					if sent > 0 {
						body = strings.NewReader(payload)
					}
					req, err := http.NewRequestWithContext(c.ctx, c.method, "http://"+addr+"/items", body)
					if err != nil {
						b.Fatal(err)
					}
					resp, err := rt.RoundTrip(req)
					if err != nil {
						b.Fatal(err)
					}
					for err == nil {
						_, err = resp.Body.Read(scratch)
					}
					_ = resp.Body.Close()
				}
				took, busy = time.Since(begun), cpu(b)-used
				runtime.ReadMemStats(&after)
				return took, busy, after.Mallocs - before.Mallocs
			}
			run(bare, 100)
			run(lb, 100)

			const turn = 100
			var times, busy [2][]float64
			var allocs [2]uint64
			total := 0
			b.ResetTimer()
			for left := b.N; left > 0; left -= turn {
				n := min(left, turn)
				for i := range 2 {
					which := (i + total/turn) % 2 // neither is always first
					d, c, m := run([]http.RoundTripper{bare, lb}[which], n)
					times[which] = append(times[which], float64(d)/float64(n))
					busy[which] = append(busy[which], float64(c)/float64(n))
					allocs[which] += m
				}
				total += n
			}
			b.StopTimer()
			quartile := func(v []float64) float64 { slices.Sort(v); return v[len(v)/4] }
			b.ReportMetric(quartile(times[0]), "bare-ns/req")
			b.ReportMetric(quartile(times[1]), "lbhttp-ns/req")
			b.ReportMetric(quartile(times[1])/quartile(times[0]), "time")
			b.ReportMetric(quartile(busy[1])/quartile(busy[0]), "cpu")
			b.ReportMetric(float64(allocs[1])/float64(total)-float64(allocs[0])/float64(total), "+allocs")
			b.ReportMetric(0, "ns/op") // of both together: of no interest
		})
	}
}
