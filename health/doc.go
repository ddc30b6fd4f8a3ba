// Package health probes the backends of a pool from the side and takes those out
// that do not answer: active checks, beside the ejection by outcome that the pool
// does by itself. It is for what outcomes cannot show: a backend that gets no
// calls, or one that must not be given any before it is ready.
//
//	checker, err := health.Start(pool, health.HTTP[string]{Path: "/healthz"}, health.Config{})
//	if err != nil { ... }
//	defer checker.Close()
//
// A probe is an HTTP request ([HTTP]), a TCP connection ([TCP]) or a function of
// your own ([Func]).
//
// # What a verdict does
//
// A backend is used until Config.Down probes in a row have failed; then it is out
// ([evenkeel.StateEjectedByHealth]) until Config.Up in a row have passed, and
// comes back at a small share (see [evenkeel.SlowStart]). Only the number of
// probes counts, not how fast they failed, and no probe's duration enters a
// backend's load.
//
// Three things stand above a verdict. An ejection by hand holds whatever probes
// say. An ejection by outcome lasts its time although probes pass: a health URL
// that answers says little of the calls that do not. And when probes have taken
// more than evenkeel.Config.PanicShare of the pool, it is more likely that the
// probes are wrong: all members that are not ejected by hand are used again, and
// Stats.Panic says so.
//
// A verdict changes neither weights nor membership: a backend with weight 0 is
// probed like any other, and gets no calls whatever is found.
package health
