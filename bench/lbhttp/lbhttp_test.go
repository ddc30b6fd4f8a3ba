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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bufbuild/httplb"

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

// way is one of the ways to send a request, and what was measured of it.
type way struct {
	name   string
	rt     http.RoundTripper
	times  []float64 // of each turn, for one request
	busy   []float64 // processor time of client and server
	allocs uint64
}

// ways returns the bare transport, which the others are compared with, lbhttp and
// httplb, all over transports of the same settings. The pool of lbhttp and the
// resolver of httplb know two addresses; the second one of lbhttp is drained, and that
// of httplb does not exist: a name that resolves to one address is its recommended use.
func ways(b *testing.B, addr string, keepAlive bool) []*way {
	settings := &http.Transport{DisableKeepAlives: !keepAlive, MaxIdleConnsPerHost: 256}
	bare := settings.Clone()
	pool, err := evenkeel.NewPool(evenkeel.Config{}, addr, "localhost:1")
	if err != nil {
		b.Fatal(err)
	}
	if err := pool.SetWeight("localhost:1", 0); err != nil {
		b.Fatal(err)
	}
	ours, err := lbhttp.NewWith(p2c.New(pool), lbhttp.Config{Base: settings})
	if err != nil {
		b.Fatal(err)
	}
	theirs := httplb.NewClient(httplb.WithTransport("http", same{settings}))
	b.Cleanup(func() {
		bare.CloseIdleConnections()
		ours.CloseIdleConnections()
		_ = theirs.Close()
	})
	return []*way{{name: "bare", rt: bare}, {name: "lbhttp", rt: ours}, {name: "httplb", rt: theirs.Transport}}
}

// same makes httplb use the settings of the others.
type same struct{ settings *http.Transport }

func (s same) NewRoundTripper(_, _ string, _ httplb.TransportConfig) httplb.RoundTripperResult {
	t := s.settings.Clone()
	return httplb.RoundTripperResult{RoundTripper: t, Close: t.CloseIdleConnections}
}

// BenchmarkRoundTrip: one operation is one request over each of the ways. They take
// turns of 64 requests, in an order that changes, so that what else the machine does
// falls on all alike. time is the median, over all turns, of the time of a way over
// that of the bare transport in the same round; cpu is the same for processor time,
// which other load on the machine disturbs less; +allocs is what a way allocates more
// for a request.
func BenchmarkRoundTrip(b *testing.B) {
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, workers := range []int{1, 64} {
		for _, ctx := range []context.Context{context.Background(), cancellable} {
			for _, keepAlive := range []bool{true, false} {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					if method == http.MethodPost && !keepAlive {
						continue
					}
					name := fmt.Sprintf("%s/cancellable=%t/keepalive=%t/workers=%d", method, ctx.Done() != nil, keepAlive, workers)
					b.Run(name, func(b *testing.B) { compare(b, method, ctx, keepAlive, workers) })
				}
			}
		}
	}
}

func compare(b *testing.B, method string, ctx context.Context, keepAlive bool, workers int) {
	sent := 0
	if method == http.MethodPost {
		sent = len(payload)
	}
	addr := fixed(b, sent, keepAlive)
	send := func(rt http.RoundTripper, scratch []byte) {
		var body io.Reader
		if sent > 0 {
			body = strings.NewReader(payload)
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+"/items", body)
		if err != nil {
			b.Error(err)
			return
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			b.Error(err)
			return
		}
		for err == nil {
			_, err = resp.Body.Read(scratch)
		}
		_ = resp.Body.Close()
	}
	turn := func(w *way, n int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begun, used := time.Now(), cpu(b)
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				scratch := make([]byte, 64)
				for range (n + i) / workers {
					send(w.rt, scratch)
				}
			})
		}
		wg.Wait()
		took, busy := time.Since(begun), cpu(b)-used
		runtime.ReadMemStats(&after)
		w.times = append(w.times, float64(took)/float64(n))
		w.busy = append(w.busy, float64(busy)/float64(n))
		w.allocs += after.Mallocs - before.Mallocs
	}
	all := ways(b, addr, keepAlive)
	for _, w := range all {
		turn(w, 4*workers+64)
		*w = way{name: w.name, rt: w.rt}
	}
	const length = 64
	total := 0
	for b.Loop() {
		if total++; total%length != 0 {
			continue
		}
		for i := range all {
			turn(all[(i+total/length)%len(all)], length)
		}
	}
	rounds := len(all[0].times)
	if rounds == 0 {
		b.Skipf("needs -benchtime %dx at least", length)
	}
	bare := all[0]
	b.ReportMetric(median(bare.times), "bare-ns")
	for _, w := range all[1:] {
		b.ReportMetric(median(ratios(w.times, bare.times)), w.name+"-time")
		b.ReportMetric(median(ratios(w.busy, bare.busy)), w.name+"-cpu")
		b.ReportMetric((float64(w.allocs)-float64(bare.allocs))/float64(rounds*length), w.name+"+allocs")
	}
	b.ReportMetric(0, "ns/op") // of all together: of no interest
}

func ratios(v, of []float64) []float64 {
	r := make([]float64, len(v))
	for i := range v {
		r[i] = v[i] / of[i]
	}
	return r
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
