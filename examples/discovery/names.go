package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// nameServer is a discover.Resolver in place of a real name server.
type nameServer struct {
	mu      sync.Mutex
	records []*net.SRV
	failing bool
}

// list makes the servers on these ports of loopback the service's records.
func (n *nameServer) list(ports ...uint16) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records = nil
	for _, port := range ports {
		n.records = append(n.records, &net.SRV{Target: "127.0.0.1", Port: port})
	}
}

// fail makes all lookups fail, or not.
func (n *nameServer) fail(failing bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failing = failing
}

func (n *nameServer) LookupSRV(context.Context, string) ([]*net.SRV, time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failing {
		return nil, 0, &net.DNSError{Err: "server misbehaving", Name: "orders.internal", IsTemporary: true}
	}
	return n.records, 0, nil
}

// LookupAddrs is not needed: the records hold addresses.
func (n *nameServer) LookupAddrs(context.Context, string, string) ([]netip.Addr, time.Duration, error) {
	return nil, 0, errors.New("only SRV records are known")
}
