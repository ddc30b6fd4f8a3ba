package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
)

// fleet is HTTP servers on loopback.
type fleet struct{ servers []*httptest.Server }

// grow starts n more servers and returns the ports of all.
func (f *fleet) grow(n int) []uint16 {
	for range n {
		f.servers = append(f.servers, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "here you are")
		})))
	}
	return f.all()
}

// all returns the ports of the servers that have not been killed.
func (f *fleet) all() []uint16 {
	var ports []uint16
	for _, s := range f.servers {
		ports = append(ports, uint16(s.Listener.Addr().(*net.TCPAddr).Port))
	}
	return ports
}

// kill ends a server and its connections.
func (f *fleet) kill(i int) {
	f.servers[i].CloseClientConnections()
	f.servers[i].Close()
	f.servers = append(f.servers[:i:i], f.servers[i+1:]...)
}

func (f *fleet) close() {
	for _, s := range f.servers {
		s.Close()
	}
}

// calls are made by a few callers until stop.
type calls struct {
	done, failed atomic.Int64
	over         atomic.Bool
	callers      sync.WaitGroup
}

func callAllTheWhile(orders *http.Client) *calls {
	c := &calls{}
	for range 4 {
		c.callers.Go(func() {
			for !c.over.Load() {
				if call(orders) != nil {
					c.failed.Add(1)
				}
				c.done.Add(1)
			}
		})
	}
	return c
}

func call(orders *http.Client) error {
	resp, err := orders.Get("http://orders/items")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (c *calls) stop() {
	c.over.Store(true)
	c.callers.Wait()
}

func (c *calls) summary() string {
	return fmt.Sprintf("%d calls so far, %d of them failed", c.done.Load(), c.failed.Load())
}
