package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// network is where the servers listen and the callers dial.
type network interface {
	Listen() (net.Listener, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// loopback is the network within this machine.
type loopback struct{ net.Dialer }

func (*loopback) Listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// farm is the servers, by URL.
type farm struct {
	urls    []string
	names   map[string]string
	failing map[string]*atomic.Bool
	servers []*http.Server
	over    sync.WaitGroup
}

// startServers starts n servers that answer after takes, or, while they are
// failing, at once with 500.
func startServers(where network, n int, takes time.Duration) (*farm, error) {
	f := &farm{names: map[string]string{}, failing: map[string]*atomic.Bool{}}
	for i := range n {
		listener, err := where.Listen()
		if err != nil {
			f.close()
			return nil, fmt.Errorf("no server could be started: %w", err)
		}
		failing := new(atomic.Bool)
		server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if failing.Load() {
				http.Error(w, "out of order", http.StatusInternalServerError)
				return
			}
			select {
			case <-time.After(takes):
				_, _ = fmt.Fprintln(w, "done")
			case <-r.Context().Done():
			}
		})}
		url := "http://" + listener.Addr().String()
		f.urls = append(f.urls, url)
		f.names[url], f.failing[url] = fmt.Sprint("server ", i+1), failing
		f.servers = append(f.servers, server)
		// One that breaks down is a failing server, which is what this is about.
		f.over.Go(func() { _ = server.Serve(listener) })
	}
	return f, nil
}

func (f *farm) name(url string) string { return f.names[url] }

func (f *farm) setFailing(url string, failing bool) { f.failing[url].Store(failing) }

// close ends all servers and waits for them.
func (f *farm) close() {
	for _, s := range f.servers {
		_ = s.Close()
	}
	f.over.Wait()
}
