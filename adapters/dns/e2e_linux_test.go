package dns_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/adapters/dns"
	"github.com/evenkeel-go/evenkeel/client"
	"github.com/evenkeel-go/evenkeel/discover"
)

// resolvers are both resolvers, asking one server. timeout is for what has one.
func resolvers(server string, timeout time.Duration) map[string]discover.Resolver {
	system := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, server)
		if err == nil { // otherwise the goroutine of a lookup that has been given up reads on for 5 s
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}}
	return map[string]discover.Resolver{
		"of package net": discover.System(system),
		"of package dns": &dns.Resolver{Servers: []string{server}, Timeout: timeout},
	}
}

// impatient looks up again and again.
var impatient = discover.Config{Interval: 20 * time.Millisecond, MinInterval: time.Millisecond, Timeout: 50 * time.Millisecond}

// service is a service under test: its client, and word of each lookup and change.
type service struct {
	*client.Client
	lookups chan error    // nil: it brought members
	changed chan struct{} // the pool may have changed
}

func newService(t *testing.T, source discover.Source[string]) *service {
	t.Helper()
	s := &service{lookups: make(chan error), changed: make(chan struct{}, 1)}
	told := discover.Func[string](func(ctx context.Context) (discover.Answer[string], error) {
		answer, err := source.Lookup(ctx)
		select {
		case s.lookups <- err:
		default:
		}
		return answer, err
	})
	var err error
	s.Client, err = client.NewWith(t.Context(), told, client.Config{
		Discover: impatient,
		Pool: evenkeel.Config{OnEvent: func(evenkeel.Event) {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// members returns the addresses of the pool's members.
func (s *service) members() []string {
	var all []string
	for b := range s.Pool().All() {
		host, _, _ := net.SplitHostPort(b)
		all = append(all, host)
	}
	slices.Sort(all)
	return all
}

// await waits until these are the members, while calls go on.
func (s *service) await(c *callers, want ...string) {
	for !slices.Equal(s.members(), want) {
		select {
		case <-s.changed:
		case <-c.calls:
		}
	}
}

// fail lets n lookups fail, while calls go on.
func (s *service) fail(c *callers, n int) {
	for n > 0 {
		select {
		case err := <-s.lookups:
			if err != nil {
				n--
			}
		case <-c.calls:
		}
	}
}

func addrs(last ...int) []string {
	var all []string
	for _, n := range last {
		all = append(all, fmt.Sprintf("127.0.0.%d", n))
	}
	return all
}

// Calls go on while a fleet grows, shrinks and is replaced, and while its DNS server says
// SERVFAIL, says nothing, has lost the name, is dead, comes back, and cuts its answers. No
// call fails.
func TestNoCallFailsWhateverTheDNSDoes(t *testing.T) {
	for name := range resolvers("", 0) {
		t.Run(name, func(t *testing.T) {
			server := startDNSMasq(t)
			zone := func(last ...int) { server.zone(map[string][]string{"orders.test": addrs(last...)}) }
			zone(1, 2)
			server.start()
			between, servers := newRelay(t, pass(server.addr())), newFleet(t, 8)
			orders := newService(t, &discover.DNS{Host: "orders.test.:" + servers.port, Resolver: resolvers(between.addr, 20*time.Millisecond)[name]})
			calls := newCallers(t, orders.Client)
			defer calls.stop()

			zone(1, 2, 3, 4)
			orders.await(calls, addrs(1, 2, 3, 4)...)
			assert.Len(t, calls.watch(300), 4, "who has joined gets calls")

			for trouble, answer := range map[string]mdns.HandlerFunc{"SERVFAIL": code(mdns.RcodeServerFailure), "silence": silent, "REFUSED": code(mdns.RcodeRefused)} {
				between.set(answer)
				orders.fail(calls, 3)
				assert.Equal(t, addrs(1, 2, 3, 4), orders.members(), trouble)
			}
			between.set(pass(server.addr()))
			server.zone(nil) // NXDOMAIN
			orders.fail(calls, 3)
			server.stop()
			orders.fail(calls, 3)
			servers.kill("127.0.0.4") // and a server dies in the dark
			assert.NotEmpty(t, calls.watch(300))
			assert.Equal(t, addrs(1, 2, 3, 4), orders.members())

			zone(1, 2, 3)
			server.start()
			orders.await(calls, addrs(1, 2, 3)...)

			between.set(truncated(pass(server.addr())))
			zone(5, 6, 7, 8)
			orders.await(calls, addrs(5, 6, 7, 8)...)
			for _, old := range addrs(1, 2, 3) {
				servers.retire(old)
			}
			assert.Len(t, calls.watch(300), 4)
		})
	}
}

// Priorities are tiers: the second ones get calls when the first ones are gone.
func TestSRVRecordsOfARealServer(t *testing.T) {
	for name := range resolvers("", 0) {
		t.Run(name, func(t *testing.T) {
			server, servers := startDNSMasq(t), newFleet(t, 4)
			server.zone(map[string][]string{"a.test": addrs(1), "b.test": addrs(2), "c.test": addrs(3), "d.test": addrs(4)})
			record := func(host, priority, weight string) string {
				return "--srv-host=_http._tcp.orders.test," + host + "," + servers.port + "," + priority + "," + weight
			}
			server.start(record("a.test", "10", "3"), record("b.test", "10", "1"), record("c.test", "20", "1"))
			orders := newService(t, &discover.SRV{Name: "_http._tcp.orders.test.", Resolver: resolvers(server.addr(), time.Second)[name]})
			calls := newCallers(t, orders.Client)
			defer calls.stop()
			assert.Zero(t, calls.watch(300)["127.0.0.3"], "it stands by")
			weights := map[string]float64{}
			for b, stats := range orders.Pool().All() {
				weights[b] = stats.Weight
			}
			assert.InDelta(t, 3, weights["127.0.0.1:"+servers.port]/weights["127.0.0.2:"+servers.port], 1e-9)

			for _, first := range addrs(1, 2) {
				require.NoError(t, orders.Pool().Eject(net.JoinHostPort(first, servers.port)))
			}
			assert.Equal(t, map[string]int{"127.0.0.3": 100}, calls.watch(100))

			server.stop()
			server.start(record("c.test", "10", "1"), record("d.test", "10", "0"))
			orders.await(calls, addrs(3, 4)...)
		})
	}
}

// A name of 150 addresses does not fit into a datagram of any size that is asked for.
func TestManyAddressesOfARealServer(t *testing.T) {
	server := startDNSMasq(t)
	many := make([]string, 150)
	for i := range many {
		many[i] = fmt.Sprintf("10.0.0.%d", i)
	}
	server.zone(map[string][]string{"many.test": many})
	server.start()
	for name, resolver := range resolvers(server.addr(), time.Minute) {
		answer, err := (&discover.DNS{Host: "many.test.:80", Resolver: resolver}).Lookup(t.Context())
		require.NoError(t, err, name)
		assert.Len(t, answer.Members, 150, name)
	}
}
