package discover

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// A Resolver asks the DNS. It must be safe for concurrent use.
type Resolver interface {
	// LookupAddrs returns the addresses of a host, and how long they are good (0: it is
	// not known). network is "ip4" or "ip6". Where the host has no such address, the
	// error is a *net.DNSError with IsNotFound.
	LookupAddrs(ctx context.Context, network, host string) ([]netip.Addr, time.Duration, error)

	// LookupSRV returns the SRV records of a name, likewise. Records beside an error
	// are used all the same; the error is then about others.
	LookupSRV(ctx context.Context, name string) ([]*net.SRV, time.Duration, error)
}

// System returns a Resolver that asks r, which does not tell how long an answer is good.
// nil: net.DefaultResolver. A lookup that is given up returns at once, but package net may
// keep a goroutine for it until its own timeout, which is 5 s for each server and attempt
// by default.
func System(r *net.Resolver) Resolver {
	if r == nil {
		r = net.DefaultResolver
	}
	return system{r}
}

type system struct{ r *net.Resolver }

func (s system) LookupAddrs(ctx context.Context, network, host string) ([]netip.Addr, time.Duration, error) {
	addrs, err := s.r.LookupNetIP(ctx, network, host)
	return addrs, 0, err
}

func (s system) LookupSRV(ctx context.Context, name string) ([]*net.SRV, time.Duration, error) {
	_, records, err := s.r.LookupSRV(ctx, "", "", name)
	return records, 0, err
}

// orSystem puts the default in place of nil.
func orSystem(r Resolver) Resolver {
	if r == nil {
		return System(nil)
	}
	return r
}

// Family says which addresses of a host become backends. A host that has addresses of
// both families is as a rule one server that can be reached in two ways: as two backends
// it would get twice its share, and its calls in flight would be counted apart.
type Family int

// The families.
const (
	FamilyAuto Family = iota // the host's IPv4 addresses, or the IPv6 ones where it has no other
	FamilyIPv4               // IPv4 only
	FamilyIPv6               // IPv6 only
	FamilyBoth               // all: for hosts whose two kinds of addresses are different servers
)

// lookup returns a host's addresses of the family. A host that is an address is itself.
func (f Family) lookup(ctx context.Context, r Resolver, host string) ([]netip.Addr, time.Duration, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, 0, nil
	}
	switch f {
	case FamilyIPv4:
		return addrs(ctx, r, "ip4", host)
	case FamilyIPv6:
		return addrs(ctx, r, "ip6", host)
	}
	v4, ttl4, err4 := addrs(ctx, r, "ip4", host)
	if f == FamilyAuto && (err4 == nil || !notFound(err4)) {
		return v4, ttl4, err4
	}
	v6, ttl6, err6 := addrs(ctx, r, "ip6", host)
	switch {
	case f == FamilyBoth && err4 != nil && !notFound(err4):
		return nil, 0, err4 // half an answer would take the other half's servers away
	case f == FamilyBoth && err4 == nil && (err6 == nil || notFound(err6)):
		return append(v4, v6...), sooner(ttl4, ttl6), nil
	}
	return v6, ttl6, err6
}

// addrs is LookupAddrs with each address in its own form, and no answer as an error.
func addrs(ctx context.Context, r Resolver, network, host string) ([]netip.Addr, time.Duration, error) {
	found, ttl, err := r.LookupAddrs(ctx, network, host)
	if err != nil {
		return nil, 0, err
	}
	own := make([]netip.Addr, len(found))
	for i, a := range found {
		own[i] = a.Unmap() // net gives an IPv4 address in either form
	}
	if len(own) == 0 {
		return nil, 0, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	return own, ttl, nil
}

// notFound reports whether an error says that there is no such name, or no such record.
func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// sooner is the shorter of two times to live; 0 is one that is not known.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
