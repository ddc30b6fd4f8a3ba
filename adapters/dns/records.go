package dns

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// LookupAddrs implements discover.Resolver. The time is the least TTL of the records that
// lead to the addresses. A TTL of 0 counts as not known.
func (r *Resolver) LookupAddrs(ctx context.Context, network, host string) ([]netip.Addr, time.Duration, error) {
	kind := dns.TypeA
	if network == "ip6" {
		kind = dns.TypeAAAA
	}
	records, err := r.lookup(ctx, host, kind)
	if err != nil {
		return nil, 0, err
	}
	var addrs []netip.Addr
	for _, record := range records {
		var ip net.IP
		switch record := record.(type) {
		case *dns.A:
			ip = record.A
		case *dns.AAAA:
			ip = record.AAAA
		}
		if addr, ok := netip.AddrFromSlice(ip); ok {
			addrs = append(addrs, addr.Unmap())
		}
	}
	return addrs, leastTTL(records), nil
}

// LookupSRV implements discover.Resolver, likewise.
func (r *Resolver) LookupSRV(ctx context.Context, name string) ([]*net.SRV, time.Duration, error) {
	records, err := r.lookup(ctx, name, dns.TypeSRV)
	if err != nil {
		return nil, 0, err
	}
	var all []*net.SRV
	for _, record := range records {
		if s, ok := record.(*dns.SRV); ok {
			all = append(all, &net.SRV{Target: s.Target, Port: s.Port, Priority: s.Priority, Weight: s.Weight})
		}
	}
	return all, leastTTL(records), nil
}

func leastTTL(records []dns.RR) time.Duration {
	least := records[0].Header().Ttl
	for _, record := range records {
		least = min(least, record.Header().Ttl)
	}
	return time.Duration(least) * time.Second
}
