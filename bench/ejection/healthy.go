package main

import "github.com/evenkeel-go/evenkeel"

// calm is what a pool that nothing is wrong with has shown.
type calm struct {
	n         int
	noise     float64
	calls     int
	failures  int
	ejections int
}

// healthy counts the ejections over so many calls, each of which fails with
// probability noise, on whatever backend.
func healthy(n int, noise, perBackend float64, calls int, seed uint64) (calm, error) {
	c := calm{n: n, noise: noise}
	w, err := newWorld(n, perBackend, noise, seed, evenkeel.Config{OnEvent: func(e evenkeel.Event) {
		if e.To == evenkeel.StateEjectedByOutcome {
			c.ejections++
		}
	}})
	if err != nil {
		return c, err
	}
	w.onEnd = func(_ int, failed bool) {
		c.calls++
		if failed {
			c.failures++
		}
	}
	for c.calls < calls {
		if err := w.step(); err != nil {
			return c, err
		}
	}
	return c, nil
}
