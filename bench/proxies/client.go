package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A run is what one run of the clients has measured.
type run struct {
	Sent    []int   `json:"sent"` // requests that each server answered; the last is the slow one
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
}

// patience is how long a client waits for one answer, as in the tutorial.
const patience = 60 * time.Second

// drive sends the requests, as many at a time as there are clients, each with a
// path of its own, and calls count after each. One request that fails ends the
// run, with its error, since its figures would mean nothing.
func drive(ctx context.Context, t target, servers, clients, requests int, count func()) (run, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	client := &http.Client{Transport: t.transport, Timeout: patience}
	times := make([]time.Duration, requests)
	sent := make([]atomic.Int64, servers)
	var next atomic.Int64
	var working sync.WaitGroup
	began := time.Now()
	for range clients {
		working.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= requests {
					return
				}
				start := time.Now()
				server, err := ask(ctx, client, t.url+strconv.Itoa(i), servers)
				if err != nil {
					fail(err)
					return
				}
				times[i] = time.Since(start)
				sent[server].Add(1)
				count()
			}
		})
	}
	working.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		err := context.Cause(ctx)
		if words := t.log(); words != "" && !errors.Is(err, context.Canceled) {
			err = fmt.Errorf("%w; the proxy wrote: %s", err, words)
		}
		return run{}, err
	}
	slices.Sort(times)
	r := run{Seconds: took.Seconds(), P50: millis(times[requests/2]), P99: millis(times[99*(requests-1)/100])} // the tutorial's ranks
	for i := range sent {
		r.Sent = append(r.Sent, int(sent[i].Load()))
	}
	return r, nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1000 }

// ask makes one request, and returns the number of the server that answered.
func ask(ctx context.Context, client *http.Client, url string, servers int) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("the answer is %s", resp.Status)
	}
	server, err := strconv.Atoi(string(body))
	if err != nil || server < 0 || server >= servers {
		return 0, fmt.Errorf("the answer %.40q comes from none of the servers", body)
	}
	return server, nil
}
