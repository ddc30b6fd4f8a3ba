package dns_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/adapters/dns"
	"github.com/evenkeel-go/evenkeel/discover"
)

var _ discover.Resolver = (*dns.Resolver)(nil)

func TestAddressesAndTheirTTL(t *testing.T) {
	r := &dns.Resolver{Servers: []string{newRelay(t, records(
		"www.test. 20 IN CNAME orders.test.",
		"orders.test. 60 IN A 10.0.0.1",
		"orders.test. 30 IN A 10.0.0.2",
		"orders.test. 0 IN AAAA 2001:db8::1",
	)).addr}}
	for _, c := range []struct {
		network, host string
		want          []string
		ttl           time.Duration
	}{
		{"ip4", "orders.test", []string{"10.0.0.1", "10.0.0.2"}, 30 * time.Second},
		{"ip4", "orders.test.", []string{"10.0.0.1", "10.0.0.2"}, 30 * time.Second},
		{"ip4", "www.test", []string{"10.0.0.1", "10.0.0.2"}, 20 * time.Second},
		{"ip6", "orders.test", []string{"2001:db8::1"}, 0},
	} {
		addrs, ttl, err := r.LookupAddrs(t.Context(), c.network, c.host)
		require.NoError(t, err, c.host)
		var want []netip.Addr
		for _, text := range c.want {
			want = append(want, netip.MustParseAddr(text))
		}
		assert.Equal(t, want, addrs, c.host)
		assert.Equal(t, c.ttl, ttl, c.host)
	}
}

func TestSRVRecords(t *testing.T) {
	r := &dns.Resolver{Servers: []string{newRelay(t, records(
		"_http._tcp.orders.test. 60 IN SRV 10 5 8080 a.test.",
		"_http._tcp.orders.test. 50 IN SRV 20 0 8081 b.test.",
	)).addr}}
	got, ttl, err := r.LookupSRV(t.Context(), "_http._tcp.orders.test")
	require.NoError(t, err)
	assert.Equal(t, 50*time.Second, ttl)
	assert.Equal(t, []*net.SRV{
		{Target: "a.test.", Port: 8080, Priority: 10, Weight: 5}, {Target: "b.test.", Port: 8081, Priority: 20},
	}, got)
	_, _, err = r.LookupSRV(t.Context(), "_none._tcp.orders.test")
	assert.True(t, isNotFound(err), "%v", err)
}

func isNotFound(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e) && e.IsNotFound
}

func isTemporary(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e) && e.IsTemporary && !e.IsNotFound
}

// What is not there and what nobody knows are different errors: only the first takes a
// host's servers away.
func TestKindsOfErrors(t *testing.T) {
	good := records("orders.test. 60 IN A 10.0.0.1")
	for name, c := range map[string]struct {
		answers mdns.HandlerFunc
		want    func(error) bool
	}{
		"no such name":   {good, isNotFound},
		"no such record": {records("no.test. 60 IN AAAA ::1"), isNotFound},
		"SERVFAIL":       {code(mdns.RcodeServerFailure), isTemporary},
		"REFUSED":        {code(mdns.RcodeRefused), isTemporary},
		"silence":        {silent, isTemporary},
		"always cut":     {cut, isTemporary},
	} {
		r := &dns.Resolver{Servers: []string{newRelay(t, c.answers).addr}}
		if name == "silence" {
			r.Timeout = time.Millisecond
		}
		_, _, err := r.LookupAddrs(t.Context(), "ip4", "no.test")
		assert.True(t, c.want(err), "%s: %v", name, err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	for name, servers := range map[string][]string{"nobody listens": {closed.Addr().String()}, "no servers": {}} {
		_, _, err := (&dns.Resolver{Servers: servers}).LookupAddrs(t.Context(), "ip4", "no.test")
		assert.True(t, isTemporary(err), "%s: %v", name, err)
	}
}

func TestTheNextServerIsAsked(t *testing.T) {
	good := newRelay(t, records("orders.test. 60 IN A 10.0.0.1"))
	for name, bad := range map[string]mdns.HandlerFunc{"SERVFAIL": code(mdns.RcodeServerFailure), "silence": silent} {
		r := &dns.Resolver{Servers: []string{newRelay(t, bad).addr, good.addr}, Timeout: 500 * time.Millisecond}
		addrs, _, err := r.LookupAddrs(t.Context(), "ip4", "orders.test")
		assert.NoError(t, err, name)
		assert.Len(t, addrs, 1, name)
	}
}

// An answer that does not fit into a datagram is fetched by TCP.
func TestLongAnswers(t *testing.T) {
	var zone []string
	for i := range 200 {
		zone = append(zone, fmt.Sprintf("orders.test. 60 IN A 10.0.0.%d", i))
	}
	r := &dns.Resolver{Servers: []string{newRelay(t, truncated(records(zone...))).addr}}
	addrs, _, err := r.LookupAddrs(t.Context(), "ip4", "orders.test")
	require.NoError(t, err)
	assert.Len(t, addrs, 200)
}

func TestTheContextEndsALookup(t *testing.T) {
	asked := make(chan struct{})
	r := &dns.Resolver{Timeout: time.Hour, Servers: []string{newRelay(t, func(mdns.ResponseWriter, *mdns.Msg) { close(asked) }).addr}}
	gone := errors.New("closed")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(gone)
	}()
	_, _, err := r.LookupAddrs(ctx, "ip4", "orders.test")
	assert.ErrorIs(t, err, gone)
}

// The names of the search list are tried in order, as far as there is an answer.
func TestTheSearchList(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	require.NoError(t, os.WriteFile(conf, []byte("search a.test b.test\noptions ndots:2\nnameserver 192.0.2.1\n"), 0o600))
	zone := records("orders.b.test. 60 IN A 10.0.0.1", "orders.deep.test. 60 IN A 10.0.0.2", "a.b.c. 60 IN A 10.0.0.3")
	server := newRelay(t, zone)
	r := &dns.Resolver{Servers: []string{server.addr}, ResolvConf: conf}
	for host, want := range map[string]string{"orders": "10.0.0.1", "orders.deep.test": "10.0.0.2", "a.b.c": "10.0.0.3"} {
		addrs, _, err := r.LookupAddrs(t.Context(), "ip4", host)
		if assert.NoError(t, err, host) {
			assert.Equal(t, want, addrs[0].String(), host)
		}
	}
	server.set(func(w mdns.ResponseWriter, question *mdns.Msg) {
		if question.Question[0].Name == "orders.a.test." {
			code(mdns.RcodeServerFailure)(w, question)
			return
		}
		zone(w, question)
	})
	_, _, err := r.LookupAddrs(t.Context(), "ip4", "orders")
	assert.True(t, isTemporary(err), "orders.b.test may be another service: %v", err)
}

func TestThereIsNoResolvConf(t *testing.T) {
	r := &dns.Resolver{ResolvConf: filepath.Join(t.TempDir(), "none")}
	_, _, err := r.LookupAddrs(t.Context(), "ip4", "orders.test")
	assert.True(t, isTemporary(err), "%v", err)
}
