// Package sim is a discrete-event simulator of queues that drives evenkeel's own
// balancers: every simulated request takes a Lease from a Pool and ends it by
// Done, on virtual time by evenkeel.Config.Now. No policy is written a second
// time, so what is measured is the code that a service imports.
//
// The model: requests arrive, one of several dispatchers picks a server, the
// server works on its requests first come, first served, with one or more
// workers, at a speed that may change while it works. Time is in units of the
// mean work of one request on one worker of speed 1, unless the Work says
// otherwise.
//
// A run is a function of its Config, Seed included: the same on every machine.
// Random numbers come from PCG streams, one for each purpose, so two policies
// face the same requests under the same Seed; logarithms and exponentials are
// computed without fused multiply-add (portable.go).
package sim
