package main

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A queue is one server that serves one request at a time, in order of arrival. It
// only works out when each request is over, so that a late timer makes one answer
// late and not the whole queue slower: its capacity is exact.
type queue struct {
	service time.Duration // what one request takes
	mu      sync.Mutex
	free    time.Time // when the last request so far is over
}

// enter puts a request at the end of the queue, and returns when it will be over.
func (q *queue) enter(now time.Time) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free.Before(now) {
		q.free = now
	}
	q.free = q.free.Add(q.service)
	return q.free
}

// answer is a handler that answers with the server's number when the request's
// turn is over.
func (q *queue) answer(number int) http.Handler {
	body := []byte(strconv.Itoa(number))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(time.Until(q.enter(time.Now())))
		defer timer.Stop()
		select {
		case <-timer.C:
			_, _ = w.Write(body)
		case <-r.Context().Done():
		}
	})
}

// A fleet is some servers on loopback. The last one is the slow one.
type fleet struct {
	addresses []string // host:port
	servers   []*http.Server
	running   sync.WaitGroup
}

// startFleet starts one server for each service time. The caller closes it.
func startFleet(services []time.Duration) (*fleet, error) {
	f := &fleet{}
	for i, service := range services {
		listener, err := listenOn(i)
		if err != nil {
			f.close()
			return nil, fmt.Errorf("cannot start a server on loopback: %w", err)
		}
		q := &queue{service: service}
		server := &http.Server{Handler: q.answer(i), ReadHeaderTimeout: time.Minute}
		f.servers = append(f.servers, server)
		f.addresses = append(f.addresses, listener.Addr().String())
		f.running.Go(func() { _ = server.Serve(listener) })
	}
	return f, nil
}

// listenOn listens on an address of loopback of server i's own, where the system
// has more than one. Lighttpd's hash does not look at ports, and gives four hosts
// equal shares if their addresses end in 0 to 3.
func listenOn(i int) (net.Listener, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 10+i))
	if err != nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return listener, nil
}

// close stops the servers, and returns when they have gone.
func (f *fleet) close() {
	for _, s := range f.servers {
		_ = s.Close()
	}
	f.running.Wait()
}
