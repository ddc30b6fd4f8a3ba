package discover

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// DNS is the addresses of a host name, each with weight 1 in tier 0. Its fields must not
// be changed after its first use.
type DNS struct {
	// Host is the name with the port of the servers, as in "orders.internal:8080".
	Host string

	// Family says which addresses become backends.
	Family Family

	// Resolver is asked. nil: System(nil).
	Resolver Resolver

	names names
}

// Lookup implements Source.
func (d *DNS) Lookup(ctx context.Context) (Answer[string], error) {
	host, port, err := splitHostPort(d.Host)
	if err != nil {
		return Answer[string]{}, badConfig("DNS.Host", "%v", err)
	}
	return d.names.expand(ctx, orSystem(d.Resolver), d.Family, []place{{
		host:    host,
		backend: func(a netip.Addr) string { return net.JoinHostPort(a.String(), port) },
		weight:  1,
	}})
}

// splitHostPort reads "host:port".
func splitHostPort(text string) (host, port string, err error) {
	u, err := addr.Parse(text)
	if err != nil {
		return "", "", err
	}
	if u.Scheme != "" || u.Port() == "" {
		return "", "", fmt.Errorf("%q is not host:port", addr.Redact(text))
	}
	return u.Hostname(), u.Port(), nil
}
