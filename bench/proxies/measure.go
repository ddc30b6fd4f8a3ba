package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// A row is what a subject has measured.
type row struct {
	Who       string   `json:"who"`
	Method    string   `json:"method"`
	Kind      kind     `json:"kind"`
	Requests  int      `json:"requests"`
	Median    run      `json:"median"`
	Runs      []run    `json:"runs"`
	Published *figures `json:"published,omitempty"`
}

// name is how a sentence calls the row.
func (r row) name() string { return r.Who + ", " + r.Method }

// slow is the share of the requests that went to the slow server.
func (r run) slow() float64 {
	total := 0
	for _, n := range r.Sent {
		total += n
	}
	return float64(r.Sent[len(r.Sent)-1]) / float64(max(total, 1))
}

// rate is the answers per second.
func (r row) rate() float64 { return float64(r.Requests) / r.Median.Seconds }

// measure runs a contest several times, and returns a row for each subject in
// their order. The first failure ends it.
func measure(ctx context.Context, c contest, repeat int, p *progress) ([]row, error) {
	rows := make([]row, len(c.subjects))
	total := 0
	for i, s := range c.subjects {
		rows[i] = row{Who: s.who, Method: s.method, Kind: s.kind, Requests: s.requests, Published: s.published}
		total += s.requests
	}
	for k := range repeat {
		p.begin(fmt.Sprintf("%s, %d requests, run %d of %d", c.step, c.requests, k+1, repeat), total)
		runs, err := c.once(ctx, p.count)
		p.end()
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].Runs = append(rows[i].Runs, runs[i])
		}
	}
	for i := range rows {
		rows[i].Median = median(rows[i].Runs)
	}
	return rows, nil
}

// once runs every subject once.
func (c contest) once(ctx context.Context, count func()) ([]run, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	runs := make([]run, len(c.subjects))
	abreast := c.abreast
	if abreast == 0 {
		abreast = len(c.subjects)
	}
	turn := make(chan struct{}, abreast)
	var working sync.WaitGroup
	for i, s := range c.subjects {
		turn <- struct{}{}
		working.Go(func() {
			defer func() { <-turn }()
			if ctx.Err() != nil {
				return
			}
			var err error
			if runs[i], err = c.one(ctx, s, count); err != nil {
				fail(fmt.Errorf("%s, %s: %w", s.who, s.method, err))
			}
		})
	}
	working.Wait()
	return runs, context.Cause(ctx)
}

// one runs one subject before servers of its own.
func (c contest) one(ctx context.Context, s subject, count func()) (run, error) {
	f, err := startFleet(c.services)
	if err != nil {
		return run{}, err
	}
	defer f.close()
	t, err := s.open(ctx, f.addresses)
	if err != nil {
		return run{}, err
	}
	defer t.close()
	return drive(ctx, t, len(c.services), c.clients, s.requests, count)
}

// median is the middle of each figure over the runs, of an even number the lower
// one of the two.
func median(runs []run) run {
	m := run{
		Seconds: middle(runs, func(r run) float64 { return r.Seconds }),
		P50:     middle(runs, func(r run) float64 { return r.P50 }),
		P99:     middle(runs, func(r run) float64 { return r.P99 }),
	}
	for i := range runs[0].Sent {
		m.Sent = append(m.Sent, middle(runs, func(r run) int { return r.Sent[i] }))
	}
	return m
}

func middle[V cmp.Ordered](runs []run, figure func(run) V) V {
	var all []V
	for _, r := range runs {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
