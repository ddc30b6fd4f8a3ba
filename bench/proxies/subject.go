package main

import (
	"context"
	"time"
)

// A kind is what a method looks at, and so what is expected of it.
type kind string

const (
	roundRobin kind = "round robin" // nothing: each server in turn
	loadAware  kind = "load-aware"  // the load of all servers
	twoChoices kind = "two choices" // the load of two different servers drawn at random
	twoDraws   kind = "two draws"   // the load of two servers drawn at random, which may be the same one
	hashed     kind = "hash"        // the request
	alone      kind = "alone"       // one server, with nothing to choose
)

// Who chooses, where it is not a proxy of a product's name.
const (
	inTheClient = "evenkeel in the client"
	asAProxy    = "evenkeel as a proxy"
	noBalancer  = "no balancer"
)

// A subject is one line of a table: who chooses the server, and how.
type subject struct {
	who, method string
	kind        kind
	requests    int
	published   *figures // nil: none
	open        func(ctx context.Context, servers []string) (target, error)
}

// A contest sends the same requests through its subjects, one or several at a
// time, each before servers of its own.
type contest struct {
	step     string
	services []time.Duration // of the servers; the last is the slow one
	requests int
	clients  int
	abreast  int // subjects at a time; 0: all
	subjects []subject
}

// The steps, and the service times of their servers.
const (
	stepSlow     = "slow"
	stepCapacity = "capacity"
)

var slowServices = []time.Duration{50 * time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond}

// capacityServices are the servers of the second document: what each did alone,
// times the speed.
func capacityServices(p published, speed float64) []time.Duration {
	each := func(server string) time.Duration {
		return time.Duration(float64(time.Second) / (speed * p.Lighty.Alone[server]))
	}
	return []time.Duration{each(fastServer), each(slowServer)}
}

// methods of the products: how each is called there, and what the table of the
// tutorial calls it.
var methods = map[string][]struct {
	name      string // "": the default
	shown     string
	kind      kind
	twoSpeeds string // the policy of the second document, "" if it is not run there
}{
	"nginx": {
		{"", "round_robin", roundRobin, ""},
		{"least_conn", "least_conn", loadAware, ""},
		{"random two least_conn", "random two least_conn", twoChoices, ""},
	},
	"haproxy": {
		{"roundrobin", "roundrobin", roundRobin, ""},
		{"leastconn", "leastconn", loadAware, ""},
		{"random(2)", "random(2)", twoDraws, ""},
	},
	"lighttpd": {
		{"round-robin", "round-robin", roundRobin, "roundrobin"},
		{"least-connection", "least-connection", loadAware, "sqf"},
		{"hash", "hash", hashed, ""},
	},
}

// slowContest is the tutorial's step 15: four servers of which one is slow.
func slowContest(b *bench, requests, clients, abreast int) contest {
	c := contest{step: stepSlow, services: slowServices, requests: requests, clients: clients, abreast: abreast}
	for _, p := range b.products {
		for _, m := range methods[p.name] {
			s := b.proxied(p, m.name)
			s.method, s.kind, s.requests = m.shown, m.kind, requests
			if p.name == "nginx" && clients == b.published.Nginx.Clients {
				s.published = b.published.slow(m.shown, requests)
			}
			c.subjects = append(c.subjects, s)
		}
	}
	c.subjects = append(c.subjects,
		b.embedded("roundrobin", roundRobin, requests),
		b.embedded("p2c", twoChoices, requests),
		b.embedded("sqf", loadAware, requests))
	c.subjects = append(c.subjects, b.reverseProxy(requests)...)
	return c
}

// aloneShare: one server alone is sent a part of the requests, since its rate is
// known and is only verified.
const aloneShare = 10

// capacityContest is the second document's: two servers, one faster than the
// other, and requests as fast as they are answered.
func capacityContest(b *bench, speed float64, requests, clients int) contest {
	c := contest{step: stepCapacity, services: capacityServices(b.published, speed), requests: requests, clients: clients, abreast: 1}
	for i, server := range []string{fastServer, slowServer} {
		c.subjects = append(c.subjects, subject{
			who: noBalancer, method: [...]string{"the fast server alone", "the slow server alone"}[i], kind: alone,
			requests: max(requests/aloneShare, 1), published: b.published.rate(b.published.Lighty.Alone[server], float64(i)),
			open: func(_ context.Context, servers []string) (target, error) { return straight(servers[i]), nil },
		})
	}
	for _, p := range b.products {
		for _, m := range methods[p.name] {
			if m.twoSpeeds != "" {
				s := b.proxied(p, m.name)
				s.method, s.kind, s.requests, s.published = m.shown, m.kind, requests, b.published.capacity(m.twoSpeeds)
				c.subjects = append(c.subjects, s)
			}
		}
	}
	c.subjects = append(c.subjects, b.embedded("roundrobin", roundRobin, requests), b.embedded("sqf", loadAware, requests))
	c.subjects = append(c.subjects, b.reverseProxy(requests)...)
	return c
}
