package discover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// names looks hosts up, and remembers what each had last. The zero names is empty.
type names struct {
	mu    sync.Mutex
	known map[string][]netip.Addr
}

// place is a host to look up, and what its addresses become.
type place struct {
	host    string
	backend func(netip.Addr) string
	weight  float64
	tier    int
}

// lookupsAtOnce is how many hosts are looked up at the same time.
const lookupsAtOnce = 16

// expand puts a member in place of each address of each place. A host whose lookup fails
// keeps the addresses that it had; one that does not exist has none. Only if no lookup
// succeeds there is an error.
func (n *names) expand(ctx context.Context, r Resolver, family Family, places []place) (Answer[string], error) {
	found := n.lookup(ctx, r, family, places)
	var answer Answer[string]
	fresh := false
	for _, p := range places {
		f := found[p.host]
		if f.err == nil {
			fresh = true
			answer.TTL = sooner(answer.TTL, f.ttl)
		} else if err := fmt.Errorf("host %q: %w", p.host, f.err); !slices.ContainsFunc(answer.Skipped, same(err)) {
			answer.Skipped = append(answer.Skipped, err)
		}
		for _, a := range f.addrs {
			answer.Members = append(answer.Members, evenkeel.Member[string]{Backend: p.backend(a), Weight: p.weight, Tier: p.tier})
		}
	}
	if len(places) > 0 && !fresh {
		return Answer[string]{}, errors.Join(answer.Skipped...)
	}
	return answer, nil
}

func same(err error) func(error) bool {
	return func(other error) bool { return other.Error() == err.Error() }
}

// A finding is what the lookup of one host has brought.
type finding struct {
	addrs []netip.Addr
	ttl   time.Duration
	err   error // addrs are then those of an earlier lookup
}

// lookup looks each host up once.
func (n *names) lookup(ctx context.Context, r Resolver, family Family, places []place) map[string]finding {
	found := make(map[string]finding, len(places))
	for _, p := range places {
		found[p.host] = finding{}
	}
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		slots = make(chan struct{}, lookupsAtOnce)
	)
	for _, host := range slices.Sorted(maps.Keys(found)) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			var f finding
			f.addrs, f.ttl, f.err = family.lookup(ctx, r, host)
			mu.Lock()
			defer mu.Unlock()
			found[host] = f
		})
	}
	all.Wait()
	n.remember(found)
	return found
}

// remember keeps the addresses of this lookup, and gives those of the last one to hosts
// whose lookup has failed.
func (n *names) remember(found map[string]finding) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := make(map[string][]netip.Addr, len(found))
	for host, f := range found {
		if f.err != nil && !notFound(f.err) {
			f.addrs = n.known[host]
			found[host] = f
		}
		known[host] = f.addrs
	}
	n.known = known
}
