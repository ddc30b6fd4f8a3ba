package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
)

// calls is the callers, and what they have seen.
type calls struct {
	cancel  context.CancelFunc
	group   sync.WaitGroup
	client  *http.Client
	backend map[string]*count
}

type count struct{ ended, failed atomic.Int64 }

// startCalls makes n callers call without pause until ctx ends or stop.
func startCalls(ctx context.Context, lb evenkeel.Balancer[string], urls []string, n int, where network) *calls {
	ctx, cancel := context.WithCancel(ctx)
	c := &calls{
		cancel:  cancel,
		client:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DialContext: where.DialContext}},
		backend: map[string]*count{},
	}
	for _, url := range urls {
		c.backend[url] = new(count)
	}
	for range n {
		c.group.Go(func() {
			for ctx.Err() == nil {
				// An error is counted in get, and the next call is another try.
				_ = evenkeel.Do(ctx, lb, c.get)
			}
		})
	}
	return c
}

// get makes one call. Its error tells the pool that the call failed; a status of
// 500 or above is an error too.
func (c *calls) get(ctx context.Context, url string) (err error) {
	defer func() {
		if ctx.Err() != nil { // the end of the run, no fault of the server
			return
		}
		c.backend[url].ended.Add(1)
		if err != nil {
			c.backend[url].failed.Add(1)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

// stop ends the callers and waits for them. Twice is harmless.
func (c *calls) stop() {
	c.cancel()
	c.group.Wait()
	c.client.CloseIdleConnections()
}

// sum returns how many calls have ended, how many of them failed, and how many
// each server got.
func (c *calls) sum() (total, failed int64, each map[string]int64) {
	each = map[string]int64{}
	for url, n := range c.backend {
		each[url] = n.ended.Load()
		total += each[url]
		failed += n.failed.Load()
	}
	return total, failed, each
}
