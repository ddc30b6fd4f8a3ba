package discover

import (
	"context"
	"net"
	"net/netip"
	"net/url"

	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// Resolved puts the addresses of hosts in place of their names in the answers of another
// source, so that a name with many addresses becomes many backends, each with the name's
// weight and tier. A backend is "host:port", "host" or a URL, as package lbhttp has it.
// The fields must not be changed after the first use.
type Resolved struct {
	// Source gives the names.
	Source Source[string]

	// Family says which addresses of a host become backends.
	Family Family

	// Resolver is asked. nil: System(nil).
	Resolver Resolver

	names names
}

// Lookup implements Source.
func (r *Resolved) Lookup(ctx context.Context) (Answer[string], error) {
	if r.Source == nil {
		return Answer[string]{}, badConfig("Resolved.Source", "there is none")
	}
	named, err := r.Source.Lookup(ctx)
	if err != nil {
		return named, err
	}
	var places []place
	for _, m := range named.Members {
		u, err := addr.Parse(m.Backend)
		if err != nil {
			named.Skipped = append(named.Skipped, err)
			continue
		}
		places = append(places, place{
			host: u.Hostname(), weight: m.Weight, tier: m.Tier,
			backend: func(a netip.Addr) string { return at(u, a) },
		})
	}
	answer, err := r.names.expand(ctx, orSystem(r.Resolver), r.Family, places)
	answer.TTL = sooner(answer.TTL, named.TTL)
	answer.Changed = named.Changed
	answer.Skipped = append(named.Skipped, answer.Skipped...)
	return answer, err
}

// at returns a backend with an address in place of its host.
func at(u *url.URL, a netip.Addr) string {
	own := *u
	switch {
	case u.Port() != "":
		own.Host = net.JoinHostPort(a.String(), u.Port())
	case a.Is6():
		own.Host = "[" + a.String() + "]"
	default:
		own.Host = a.String()
	}
	if own.Scheme == "" {
		return own.Host
	}
	return own.String()
}
