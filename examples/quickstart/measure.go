package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbhttp"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// balancers are the policies to choose from: each makes a balancer over a pool.
var balancers = map[string]func(pool *evenkeel.Pool[string], seed uint64) (evenkeel.Balancer[string], error){
	"roundrobin": func(pool *evenkeel.Pool[string], seed uint64) (evenkeel.Balancer[string], error) {
		return roundrobin.NewWith(pool, roundrobin.Config{Seed: seed})
	},
	"random": func(pool *evenkeel.Pool[string], seed uint64) (evenkeel.Balancer[string], error) {
		return random.NewWith(pool, random.Config{Seed: seed})
	},
	"p2c": func(pool *evenkeel.Pool[string], seed uint64) (evenkeel.Balancer[string], error) {
		return p2c.NewWith(pool, p2c.Config{Seed: seed})
	},
	"sqf": func(pool *evenkeel.Pool[string], seed uint64) (evenkeel.Balancer[string], error) {
		return sqf.NewWith(pool, sqf.Config{Seed: seed})
	},
}

// policyNames are the policies in the order in which they run: the blind ones
// first.
func policyNames() []string {
	blind := []string{"roundrobin", "random"}
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(balancers)), func(p string) bool { return slices.Contains(blind, p) })
	return append(blind, rest...)
}

// result is what one policy has done.
type result struct {
	policy  string
	asked   int // requests to be sent
	took    time.Duration
	times   []time.Duration // of the requests that were answered, in ascending order
	failed  int
	lastErr error
	sent    map[string]int // requests sent, by server
}

func (r *result) finished() int { return len(r.times) + r.failed }

// measure sends the requests of one run. count is called after each. When ctx
// ends it returns what it has; a request that was cut off counts as never sent.
func measure(ctx context.Context, policy string, servers *fleet, opt options, count func()) (result, error) {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, servers.urls...)
	if err != nil {
		return result{}, err
	}
	lb, err := balancers[policy](pool, opt.seed)
	if err != nil {
		return result{}, err
	}
	r := result{policy: policy, asked: opt.requests, sent: map[string]int{}}
	var mu sync.Mutex // guards r

	// A program that needs no count of its own says lbhttp.NewTransport(lb).
	transport, err := lbhttp.NewWith(lb, lbhttp.Config{Outcome: func(a lbhttp.Attempt) evenkeel.Outcome {
		outcome := lbhttp.DefaultOutcome(a)
		if outcome != evenkeel.OutcomeNeutral { // neutral: cut off by Ctrl-C
			mu.Lock()
			r.sent[a.Backend]++
			mu.Unlock()
		}
		return outcome
	}})
	if err != nil {
		return result{}, err
	}
	client := &http.Client{Transport: transport, Timeout: opt.timeout}
	defer client.CloseIdleConnections()

	one := func() {
		began := time.Now()
		err := get(ctx, client, "http://quickstart") // the name of the service; lb finds the server
		took := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			r.times = append(r.times, took)
		case ctx.Err() != nil:
			return
		default:
			r.failed++
			r.lastErr = plain(err)
		}
		count()
	}

	var workers sync.WaitGroup
	var taken atomic.Int64
	began := time.Now()
	for range opt.workers {
		workers.Go(func() {
			for ctx.Err() == nil && taken.Add(1) <= int64(opt.requests) {
				one()
			}
		})
	}
	workers.Wait()
	mu.Lock() // an attempt that timed out may come to its end later
	defer mu.Unlock()
	done := r
	done.took = time.Since(began)
	done.sent = maps.Clone(r.sent)
	slices.Sort(done.times)
	return done, nil
}

// failures is an error if requests have failed.
func failures(results []result) error {
	for _, r := range results {
		if r.failed > 0 {
			return fmt.Errorf("%d of %d requests failed under %s, the last one because: %w", r.failed, r.asked, r.policy, r.lastErr)
		}
	}
	return nil
}
