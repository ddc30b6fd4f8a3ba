// Package dns is a discover.Resolver that says how long its answers are good, which the
// resolver of package net does not: a name whose records live for five seconds is looked
// up again after five seconds, and not after discover.Config.Interval.
//
//	source := &discover.DNS{Host: "orders.internal:8080", Resolver: &dns.Resolver{}}
//	follower, err := discover.Follow(ctx, pool, source, discover.Config{})
//
// It asks the servers of /etc/resolv.conf, with that file's search list, one after the
// other, by UDP and, for an answer that does not fit, by TCP. It does not read /etc/hosts.
// The wire format is that of github.com/miekg/dns.
package dns
