package discover

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// SRV is the SRV records of a name (RFC 2782): each target's addresses with the record's
// port, weight and priority. Its fields must not be changed after its first use.
//
// Priorities become tiers: the lowest is tier 0, the next one tier 1. The greatest weight
// of a priority counts as 1, so that evenkeel.Config.MaxInFlight keeps its meaning; a
// target that has several addresses gives its weight to each. A record of weight 0 gets
// very few calls, as the RFC has it, and is not drained; where all have 0 they are alike.
type SRV struct {
	// Name is the full name of the records, as in "_http._tcp.orders.internal".
	Name string

	// Family says which addresses of a target become backends.
	Family Family

	// Resolver is asked. nil: System(nil).
	Resolver Resolver

	names names
}

// Lookup implements Source.
func (s *SRV) Lookup(ctx context.Context) (Answer[string], error) {
	if err := s.check(); err != nil {
		return Answer[string]{}, err
	}
	r := orSystem(s.Resolver)
	records, ttl, bad := r.LookupSRV(ctx, s.Name)
	records = slices.DeleteFunc(slices.Clone(records), func(r *net.SRV) bool { return strings.Trim(r.Target, ".") == "" })
	if len(records) == 0 {
		return Answer[string]{}, bad // nil: the service is said not to be there
	}
	answer, err := s.names.expand(ctx, r, s.Family, places(records))
	if err != nil {
		return answer, err
	}
	answer.TTL = sooner(answer.TTL, ttl)
	if bad != nil {
		answer.Skipped = append(answer.Skipped, fmt.Errorf("SRV records of %s: %w", s.Name, bad))
	}
	return answer, nil
}

func (s *SRV) check() error {
	if s.Name == "" || strings.ContainsAny(s.Name, ":/ ") {
		return badConfig("SRV.Name", `%q is not the name of SRV records, such as "_http._tcp.orders.internal"`, s.Name)
	}
	return nil
}

// lightest is the weight of an SRV record of weight 0 beside others.
const lightest = 0.1

// places reads weights and priorities.
func places(records []*net.SRV) []place {
	greatest := map[uint16]float64{} // of each priority
	for _, r := range records {
		greatest[r.Priority] = max(greatest[r.Priority], float64(r.Weight), lightest)
	}
	tiers := make([]uint16, 0, len(greatest))
	for priority := range greatest {
		tiers = append(tiers, priority)
	}
	slices.Sort(tiers)
	all := make([]place, len(records))
	for i, r := range records {
		port := strconv.Itoa(int(r.Port))
		all[i] = place{
			host:    r.Target,
			backend: func(a netip.Addr) string { return net.JoinHostPort(a.String(), port) },
			weight:  max(float64(r.Weight), lightest) / greatest[r.Priority],
			tier:    slices.Index(tiers, r.Priority),
		}
	}
	return all
}
