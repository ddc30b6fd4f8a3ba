// Package health probes the backends of a pool from the side and takes out those
// that do not answer. These active checks stand beside the ejection by outcome that
// the pool does by itself. They are for what outcomes cannot show: a backend that
// gets no calls, or a backend that must not get any before it is ready.
//
//	checker, err := health.Start(pool, health.HTTP[string]{Path: "/healthz"}, health.Config{})
//	if err != nil { ... }
//	defer checker.Close()
//
// A probe is an HTTP request ([HTTP]), a TCP connection ([TCP]) or a function of
// your own ([Func]). HTTP and TCP read a backend's address as package lbhttp does
// (see lbhttp.ParseBackend), so a backend that is found healthy can be sent
// requests too.
//
// A [Checker] runs one goroutine, and one more for each probe under way.
//
// # What a verdict does
//
// A backend is used until Config.Down probes in a row have failed. Then the backend
// is out ([evenkeel.StateEjectedByHealth]) until Config.Up probes in a row have
// passed, and comes back at a small share (see [evenkeel.SlowStart]). Only the
// number of probes counts, not how fast they failed. A probe's duration does not
// enter a backend's load.
//
// Three things stand above a verdict. An ejection by hand holds whatever probes
// find. An ejection by outcome lasts its time although probes pass: a health URL
// that answers says little of the calls that do not. And when probes have taken out
// more than evenkeel.Config.PanicShare of the pool, it is more likely that the
// probes are wrong: all members that are not ejected by hand are used again, and
// Stats.Panic says so.
//
// A verdict changes neither weights nor membership. A backend of weight 0 is probed
// like any other, and gets no calls whatever the probes find.
package health
