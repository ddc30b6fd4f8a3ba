package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A fleet is the servers that are called. All of them do the same job.
type fleet struct {
	urls  []string
	slow  string // the URL of the slow one
	text  string // what stands there, for the reader
	close func()
}

// findServers starts servers, or looks at those that the user has named.
func findServers(ctx context.Context, opt options) (*fleet, error) {
	if opt.urls == nil {
		return startServers(opt.servers, opt.fast, opt.slow)
	}
	return lookAt(ctx, opt.urls, opt.timeout)
}

// startServers starts n servers on loopback. The last one is the slow one.
func startServers(n int, fast, slow time.Duration) (*fleet, error) {
	f := &fleet{text: fmt.Sprintf("%d servers that need %v and one that needs %v", n-1, fast, slow)}
	var running sync.WaitGroup
	var servers []*http.Server
	f.close = func() {
		for _, s := range servers {
			_ = s.Close()
		}
		running.Wait()
	}
	for i := range n {
		delay := fast
		if i == n-1 {
			delay = slow
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			f.close()
			return nil, fmt.Errorf("cannot start a server on loopback: %w", err)
		}
		server := &http.Server{Handler: oneAtATime(delay), ReadHeaderTimeout: 10 * time.Second}
		servers = append(servers, server)
		running.Go(func() { _ = server.Serve(listener) })
		f.urls = append(f.urls, "http://"+listener.Addr().String())
	}
	f.slow = f.urls[n-1]
	return f, nil
}

// oneAtATime answers after delay, and takes the next request, in order of
// arrival, when it has answered the one before.
func oneAtATime(delay time.Duration) http.Handler {
	turn := make(chan struct{}, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-r.Context().Done():
			return
		}
		select {
		case <-time.After(delay):
			_, _ = io.WriteString(w, "done\n")
		case <-r.Context().Done():
		}
	})
}

// looks is how many requests are sent to each of the user's servers to see which
// one is the slowest.
const looks = 3

// lookAt finds the slowest of the user's servers, and out whether all answer.
func lookAt(ctx context.Context, urls []string, timeout time.Duration) (*fleet, error) {
	client := &http.Client{Timeout: timeout}
	defer client.CloseIdleConnections()
	f := &fleet{urls: urls, close: func() {}}
	var slowest time.Duration
	for _, u := range urls {
		best := time.Duration(-1)
		for range looks {
			began := time.Now()
			if err := get(ctx, client, u); err != nil {
				return nil, fmt.Errorf("%s cannot be used: %w", u, plain(err))
			}
			if took := time.Since(began); best < 0 || took < best {
				best = took
			}
		}
		if best > slowest {
			slowest, f.slow = best, u
		}
	}
	f.text = fmt.Sprintf("%d servers, of which %s was the slowest at first sight (%s)", len(urls), f.slow, millis(slowest))
	return f, nil
}

// get makes one request and reads the answer to its end.
func get(ctx context.Context, client *http.Client, u string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// plain takes the method and URL, which the reader knows, off a client's error.
func plain(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		if failed.Timeout() {
			return errors.New("it gave no answer in time")
		}
		return failed.Err
	}
	return err
}
