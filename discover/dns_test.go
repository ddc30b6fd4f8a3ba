package discover_test

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

// zone is a Resolver with a zone of its own.
type zone struct {
	mu    sync.Mutex
	hosts map[string][]string // addresses
	srv   map[string][]*net.SRV
	fails map[string]error // by host, or network and host
	ttl   time.Duration
	asked []string
	now   int // lookups under way
	most  int // at once
}

func (z *zone) LookupAddrs(_ context.Context, network, host string) ([]netip.Addr, time.Duration, error) {
	z.enter(network + " " + host)
	time.Sleep(time.Millisecond)
	z.mu.Lock()
	defer z.mu.Unlock()
	z.now--
	for _, key := range []string{host, network + " " + host} {
		if err := z.fails[key]; err != nil {
			return nil, 0, err
		}
	}
	var found []netip.Addr
	for _, text := range z.hosts[host] {
		if a := netip.MustParseAddr(text); a.Unmap().Is4() == (network == "ip4") {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return nil, 0, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found, z.ttl, nil
}

func (z *zone) enter(question string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked = append(z.asked, question)
	z.now++
	z.most = max(z.most, z.now)
}

func (z *zone) LookupSRV(_ context.Context, name string) ([]*net.SRV, time.Duration, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.srv[name], z.ttl, z.fails[name]
}

// lookup makes one lookup in a bubble, which makes it take no time.
func lookup(t *testing.T, source discover.Source[string]) (answer discover.Answer[string], err error) {
	synctest.Test(t, func(t *testing.T) { answer, err = source.Lookup(t.Context()) })
	return answer, err
}

func backends(answer discover.Answer[string]) []string {
	var all []string
	for _, m := range answer.Members {
		all = append(all, m.Backend)
	}
	slices.Sort(all)
	return all
}

var errServFail = &net.DNSError{Err: "server misbehaving", IsTemporary: true}

func TestFamilies(t *testing.T) {
	z := &zone{hosts: map[string][]string{
		"dual": {"10.0.0.1", "::ffff:10.0.0.2", "2001:db8::1"},
		"v4":   {"10.0.0.1"},
		"v6":   {"2001:db8::1"},
	}}
	v4, v6 := []string{"10.0.0.1:80", "10.0.0.2:80"}, []string{"[2001:db8::1]:80"}
	for _, c := range []struct {
		host   string
		family discover.Family
		want   []string
	}{
		{"dual:80", discover.FamilyAuto, v4},
		{"v6:80", discover.FamilyAuto, v6},
		{"dual:80", discover.FamilyIPv4, v4},
		{"v6:80", discover.FamilyIPv4, nil},
		{"dual:80", discover.FamilyIPv6, v6},
		{"v4:80", discover.FamilyIPv6, nil},
		{"dual:80", discover.FamilyBoth, slices.Concat(v4, v6)},
		{"v4:80", discover.FamilyBoth, v4[:1]},
		{"v6:80", discover.FamilyBoth, v6},
		{"none:80", discover.FamilyAuto, nil},
		{"none:80", discover.FamilyBoth, nil},
		{"192.0.2.7:80", discover.FamilyIPv6, []string{"192.0.2.7:80"}},
		{"[::1]:80", discover.FamilyAuto, []string{"[::1]:80"}},
	} {
		answer, err := lookup(t, &discover.DNS{Host: c.host, Family: c.family, Resolver: z})
		assert.Equal(t, c.want, backends(answer), "%s %d", c.host, c.family)
		assert.Equal(t, c.want == nil, err != nil, "%s %d: %v", c.host, c.family, err)
	}
	z.asked = nil
	_, err := lookup(t, &discover.DNS{Host: "dual:80", Resolver: z})
	assert.NoError(t, err)
	assert.Equal(t, []string{"ip4 dual"}, z.asked, "what is not needed is not asked")
}

// Where one family is not known at the moment, the other alone is not the answer: it would
// take the first one's servers away.
func TestHalfAnAnswerIsNone(t *testing.T) {
	for _, fails := range []string{"ip4 dual", "ip6 dual"} {
		z := &zone{hosts: map[string][]string{"dual": {"10.0.0.1", "2001:db8::1"}}, fails: map[string]error{fails: errServFail}}
		_, err := lookup(t, &discover.DNS{Host: "dual:80", Family: discover.FamilyBoth, Resolver: z})
		assert.ErrorIs(t, err, errServFail, fails)
	}
	z := &zone{hosts: map[string][]string{"dual": {"10.0.0.1", "2001:db8::1"}}, fails: map[string]error{"ip4 dual": errServFail}}
	_, err := lookup(t, &discover.DNS{Host: "dual:80", Resolver: z})
	assert.ErrorIs(t, err, errServFail)
}

func TestSRV(t *testing.T) {
	const name = "_http._tcp.orders"
	z := &zone{
		ttl: time.Minute,
		hosts: map[string][]string{
			"a.": {"10.0.0.1"}, "b.": {"10.0.0.2"}, "c.": {"10.0.0.3", "10.0.0.4"}, "d.": {"10.0.0.5"}, "e.": {"10.0.0.6"},
		},
		srv: map[string][]*net.SRV{name: {
			{Target: "d.", Port: 90, Priority: 20}, {Target: "e.", Port: 90, Priority: 20},
			{Target: "a.", Port: 80, Priority: 10, Weight: 100}, {Target: "a.", Port: 81, Priority: 10, Weight: 50},
			{Target: "b.", Port: 80, Priority: 10}, {Target: "c.", Port: 80, Priority: 10, Weight: 25},
		}},
	}
	answer, err := lookup(t, &discover.SRV{Name: name, Resolver: z})
	require.NoError(t, err)
	assert.ElementsMatch(t, []evenkeel.Member[string]{
		{Backend: "10.0.0.1:80", Weight: 1},
		{Backend: "10.0.0.1:81", Weight: 0.5},
		{Backend: "10.0.0.2:80", Weight: 0.001}, // small, and no drain
		{Backend: "10.0.0.3:80", Weight: 0.25},
		{Backend: "10.0.0.4:80", Weight: 0.25},
		{Backend: "10.0.0.5:90", Weight: 1, Tier: 1}, // all have weight 0: alike
		{Backend: "10.0.0.6:90", Weight: 1, Tier: 1},
	}, answer.Members)
	assert.Equal(t, time.Minute, answer.TTL)
	assert.Len(t, z.asked, 5, "each host once")
}

func TestSRVThatSaysNothing(t *testing.T) {
	z := &zone{
		srv:   map[string][]*net.SRV{"off": {{Target: ".", Port: 0}}, "half": {{Target: "a", Port: 80}}},
		hosts: map[string][]string{"a": {"10.0.0.1"}},
		fails: map[string]error{"down": errServFail, "half": errServFail},
	}
	answer, err := lookup(t, &discover.SRV{Name: "off", Resolver: z})
	assert.NoError(t, err, `the target "." says that there is no server`)
	assert.Empty(t, answer.Members)
	_, err = lookup(t, &discover.SRV{Name: "down", Resolver: z})
	assert.ErrorIs(t, err, errServFail)
	answer, err = lookup(t, &discover.SRV{Name: "half", Resolver: z})
	assert.NoError(t, err, "records beside an error count")
	assert.Equal(t, []string{"10.0.0.1:80"}, backends(answer))
	assert.ErrorContains(t, answer.Skipped[0], "misbehaving")
	_, err = lookup(t, &discover.SRV{Name: "orders:80"})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
}

// A host whose lookup fails keeps its addresses, one that is gone has none, and neither
// stands in the way of the others.
func TestHostsFailOneByOne(t *testing.T) {
	z := &zone{hosts: map[string][]string{"a": {"10.0.0.1"}, "b": {"10.0.0.2"}, "c": {"10.0.0.3"}}}
	source := &discover.Resolved{Source: discover.Static("a:80", "b:80", "b:81", "c:80", "no host"), Resolver: z}
	answer, err := lookup(t, source)
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.2:81", "10.0.0.3:80"}, backends(answer))
	require.Len(t, answer.Skipped, 1)

	z.hosts["a"], z.hosts["c"] = []string{"10.0.0.9"}, nil
	z.fails = map[string]error{"b": errServFail}
	for range 2 {
		answer, err = lookup(t, source)
		require.NoError(t, err)
		assert.Equal(t, []string{"10.0.0.2:80", "10.0.0.2:81", "10.0.0.9:80"}, backends(answer))
		assert.Len(t, answer.Skipped, 3, "each host once")
	}

	z.fails = map[string]error{"a": errServFail, "b": errServFail}
	_, err = lookup(t, source)
	assert.ErrorIs(t, err, errServFail, "nothing is known of anyone")
}

func TestResolvedKeepsTheFormOfABackend(t *testing.T) {
	z := &zone{ttl: time.Minute, hosts: map[string][]string{"a": {"10.0.0.1"}, "b": {"2001:db8::1"}}}
	changed := make(chan struct{})
	source := discover.Func[string](func(context.Context) (discover.Answer[string], error) {
		return discover.Answer[string]{TTL: time.Second, Changed: changed, Members: []evenkeel.Member[string]{
			{Backend: "https://a:8443/v2/", Weight: 2, Tier: 1}, {Backend: "http://b", Weight: 1}, {Backend: "a", Weight: 1}, {Backend: "b", Weight: 0},
		}}, nil
	})
	answer, err := lookup(t, &discover.Resolved{Source: source, Resolver: z})
	require.NoError(t, err)
	assert.Equal(t, []evenkeel.Member[string]{
		{Backend: "https://10.0.0.1:8443/v2/", Weight: 2, Tier: 1}, {Backend: "http://[2001:db8::1]", Weight: 1},
		{Backend: "10.0.0.1", Weight: 1}, {Backend: "[2001:db8::1]", Weight: 0},
	}, answer.Members)
	assert.Equal(t, time.Second, answer.TTL)
	assert.NotNil(t, answer.Changed)
	failing := discover.Func[string](func(context.Context) (discover.Answer[string], error) { return discover.Answer[string]{}, errDown })
	_, err = lookup(t, &discover.Resolved{Source: failing})
	assert.ErrorIs(t, err, errDown)
	_, err = lookup(t, &discover.Resolved{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
}

func TestHostsAreLookedUpAFewAtATime(t *testing.T) {
	z, names := &zone{hosts: map[string][]string{}}, make([]string, 100)
	for i := range names {
		host := string(rune('a'+i/26)) + string(rune('a'+i%26))
		z.hosts[host] = []string{netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}).String()}
		names[i] = host + ":80"
	}
	answer, err := lookup(t, &discover.Resolved{Source: discover.Static(names...), Resolver: z})
	require.NoError(t, err)
	assert.Len(t, answer.Members, 100)
	assert.Equal(t, 16, z.most)
}

func TestDNSRefusesWhatIsNoHostAndPort(t *testing.T) {
	for _, host := range []string{"", "orders", "http://orders:80", ":80", "orders:0", "::1"} {
		_, err := lookup(t, &discover.DNS{Host: host, Resolver: &zone{}})
		assert.ErrorIs(t, err, evenkeel.ErrBadConfig, host)
	}
}
