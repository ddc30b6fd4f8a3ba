package dns_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/client"
)

// fleet is HTTP servers on 127.0.0.1, .2, .3 and so on, all on one port.
type fleet struct {
	t       *testing.T
	port    string
	servers map[string]*http.Server // by address
	serving sync.WaitGroup
}

func newFleet(t *testing.T, n int) *fleet {
	t.Helper()
	f := &fleet{t: t, servers: map[string]*http.Server{}}
	first, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.port = strconv.Itoa(first.Addr().(*net.TCPAddr).Port)
	f.serve("127.0.0.1", first)
	for i := 2; i <= n; i++ {
		addr := fmt.Sprintf("127.0.0.%d", i)
		l, err := net.Listen("tcp", net.JoinHostPort(addr, f.port))
		require.NoError(t, err)
		f.serve(addr, l)
	}
	t.Cleanup(func() {
		for addr := range f.servers {
			f.kill(addr)
		}
		f.serving.Wait()
	})
	return f
}

func (f *fleet) serve(addr string, l net.Listener) {
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, addr) })}
	f.servers[addr] = s
	f.serving.Go(func() { _ = s.Serve(l) })
}

// kill ends a server and its connections.
func (f *fleet) kill(addr string) { _ = f.servers[addr].Close() }

// retire ends a server when its requests are over.
func (f *fleet) retire(addr string) { assert.NoError(f.t, f.servers[addr].Shutdown(f.t.Context())) }

// callers make calls all the while until stop, and none may fail.
type callers struct {
	t      *testing.T
	orders *client.Client
	ended  atomic.Bool
	epoch  atomic.Int64
	calls  chan answered
	all    sync.WaitGroup
}

// answered is a call that has ended.
type answered struct {
	by    string
	epoch int64 // when it began
}

func newCallers(t *testing.T, orders *client.Client) *callers {
	c := &callers{t: t, orders: orders, calls: make(chan answered)}
	for range 4 {
		c.all.Go(func() {
			for !c.ended.Load() {
				c.call()
			}
		})
	}
	return c
}

func (c *callers) call() {
	epoch := c.epoch.Load()
	resp, err := c.orders.Get("http://orders/items")
	if !assert.NoError(c.t, err) {
		c.calls <- answered{"", epoch}
		return
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	assert.NoError(c.t, err)
	c.calls <- answered{string(body), epoch}
}

// watch lets n calls begin and end from now on, and returns how many each server has
// answered.
func (c *callers) watch(n int) map[string]int {
	epoch, by := c.epoch.Add(1), map[string]int{}
	for n > 0 {
		if a := <-c.calls; a.epoch == epoch {
			by[a.by]++
			n--
		}
	}
	return by
}

func (c *callers) stop() {
	c.ended.Store(true)
	over := make(chan struct{})
	go func() {
		c.all.Wait()
		close(over)
	}()
	for {
		select {
		case <-c.calls:
		case <-over:
			return
		}
	}
}
