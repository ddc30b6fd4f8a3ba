package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// A scene is one measurement of detection: k of n backends begin to fail with
// probability rate after all have been well for a while, each getting perBackend
// calls a second, and all of their calls fail with probability noise besides.
type scene struct {
	n, k       int
	rate       float64
	noise      float64
	perBackend float64
	seed       uint64
	hang       bool // the calls that fail hang until their callers give up

	// relapse: the failing ones have failed altogether once before, were ejected,
	// and have been back and well for so long. 0: they never were.
	relapse time.Duration
}

// settle is how long all are well first: longer than the window of the failure
// rate, so that it is full of successes. patience is how long the failing ones
// have to be found after that.
const (
	settle   = 12 * time.Second
	patience = 60 * time.Second
)

// found is what a scene has shown.
type found struct {
	after  []time.Duration // by failing backend that was found: time from when it began to fail
	calls  []int           // the calls it had been given by then
	missed int             // failing backends that were not ejected within patience
	wrong  int             // ejections of healthy backends, up to the last detection
}

func (f *found) add(g found) {
	f.after = append(f.after, g.after...)
	f.calls = append(f.calls, g.calls...)
	f.missed += g.missed
	f.wrong += g.wrong
}

// detect plays a scene. The backends 0 to k-1 are the ones that fail.
func detect(s scene) (found, error) {
	var w *world
	var f found
	out := make([]bool, s.n) // ejected since the failing ones began to fail
	base := make([]int, s.n)
	began, left := time.Duration(-1), s.k
	cfg := evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		b := e.Backend.(int)
		switch {
		case e.To != evenkeel.StateEjectedByOutcome:
		case b >= s.k || began < 0:
			f.wrong++
		case !out[b]:
			out[b] = true
			left--
			f.after = append(f.after, e.At.Sub(epoch.Add(began)))
			f.calls = append(f.calls, w.calls[b]-base[b])
		}
	}}
	w, err := newWorld(s.n, s.perBackend, s.noise, s.seed, cfg)
	if err != nil {
		return f, err
	}
	w.hang = s.hang
	fail := func(rate float64) error { // and wait until all are found
		began, left = w.now, s.k
		clear(out)
		copy(base, w.calls)
		for b := range s.k {
			w.fail[b] = rate
		}
		for left > 0 && w.now < began+patience {
			if err := w.step(); err != nil {
				return err
			}
		}
		return nil
	}
	err = w.until(settle)
	if err == nil && s.relapse > 0 {
		if err = fail(1); err == nil {
			for b := range s.k {
				w.fail[b] = s.noise
			}
			err = w.until(w.now + s.relapse)
		}
		f.after, f.calls = nil, nil
	}
	if err == nil {
		err = fail(s.rate)
	}
	if err != nil {
		return f, fmt.Errorf("%+v: %w", s, err)
	}
	f.missed = left
	return f, nil
}

// summary is what a table shows of many scenes alike.
type summary struct {
	median, worst           time.Duration
	medianCalls, worstCalls int
	missed, of, wrong       int
}

func (f *found) summarize() summary {
	s := summary{missed: f.missed, of: f.missed + len(f.after), wrong: f.wrong}
	if len(f.after) == 0 {
		return s
	}
	after, calls := slices.Sorted(slices.Values(f.after)), slices.Sorted(slices.Values(f.calls))
	mid, last := len(after)/2, len(after)-1
	s.median, s.worst = after[mid], after[last]
	s.medianCalls, s.worstCalls = calls[mid], calls[last]
	return s
}
