package kubernetes_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/adapters/kubernetes"
	"github.com/evenkeel-go/evenkeel/discover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var yes, no = true, false

// Conditions of endpoints.
var (
	ready       = discovery.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no}
	unready     = discovery.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no}
	leaving     = discovery.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}
	gone        = discovery.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}
	unspecified = discovery.EndpointConditions{}
)

func endpoint(addr string, c discovery.EndpointConditions) discovery.Endpoint {
	return discovery.Endpoint{Addresses: []string{addr}, Conditions: c}
}

func inZone(zone string, e discovery.Endpoint) discovery.Endpoint {
	e.Zone = &zone
	return e
}

// slice is an EndpointSlice of the Service orders, with a port http of number 8080.
func slice(name string, endpoints ...discovery.Endpoint) *discovery.EndpointSlice {
	port, number := "http", int32(8080)
	return &discovery.EndpointSlice{
		ObjectMeta:  meta.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discovery.LabelServiceName: "orders"}},
		AddressType: discovery.AddressTypeIPv4,
		Endpoints:   endpoints,
		Ports:       []discovery.EndpointPort{{Name: &port, Port: &number}},
	}
}

func newSource(t *testing.T, cluster *fake.Clientset, cfg kubernetes.Config) *kubernetes.Source {
	t.Helper()
	source, err := kubernetes.NewSource(cluster, "shop", "orders", cfg)
	require.NoError(t, err)
	return source
}

// lookup returns the answer to one lookup over these slices.
func lookup(t *testing.T, cfg kubernetes.Config, all ...runtime.Object) discover.Answer[string] {
	t.Helper()
	source := newSource(t, fake.NewClientset(all...), cfg)
	defer source.Close()
	answer, err := source.Lookup(t.Context())
	require.NoError(t, err)
	return answer
}

func member(backend string, weight float64, tier int) evenkeel.Member[string] {
	return evenkeel.Member[string]{Backend: backend, Weight: weight, Tier: tier}
}

func TestWhatConditionsMean(t *testing.T) {
	answer := lookup(t, kubernetes.Config{}, slice("a",
		endpoint("10.0.0.1", ready), endpoint("10.0.0.2", unspecified), endpoint("10.0.0.3", unready),
		endpoint("10.0.0.4", leaving), endpoint("10.0.0.5", gone)))
	assert.ElementsMatch(t, []evenkeel.Member[string]{
		member("10.0.0.1:8080", 1, 0), member("10.0.0.2:8080", 1, 0),
		member("10.0.0.4:8080", 0, 0), member("10.0.0.5:8080", 0, 0),
	}, answer.Members)

	answer = lookup(t, kubernetes.Config{}, slice("a", endpoint("10.0.0.3", unready), endpoint("10.0.0.4", leaving), endpoint("10.0.0.5", gone)))
	assert.ElementsMatch(t, []evenkeel.Member[string]{member("10.0.0.4:8080", 1, 0), member("10.0.0.5:8080", 0, 0)},
		answer.Members, "nobody is ready: who still serves is used")
}

func TestZonesAreTiers(t *testing.T) {
	all := slice("a", inZone("north", endpoint("10.0.0.1", ready)), inZone("south", endpoint("10.0.0.2", ready)), endpoint("10.0.0.3", ready))
	answer := lookup(t, kubernetes.Config{Zone: "south"}, all)
	assert.ElementsMatch(t, []evenkeel.Member[string]{
		member("10.0.0.1:8080", 1, 1), member("10.0.0.2:8080", 1, 0), member("10.0.0.3:8080", 1, 1),
	}, answer.Members)
	for _, m := range lookup(t, kubernetes.Config{}, all).Members {
		assert.Zero(t, m.Tier)
	}
}

func TestPorts(t *testing.T) {
	both := slice("a", endpoint("10.0.0.1", ready))
	metrics, number := "metrics", int32(9090)
	both.Ports = append(both.Ports, discovery.EndpointPort{Name: &metrics, Port: &number})
	for port, want := range map[string]string{"http": "10.0.0.1:8080", "metrics": "10.0.0.1:9090", "9090": "10.0.0.1:9090"} {
		answer := lookup(t, kubernetes.Config{Port: port}, both)
		if assert.Len(t, answer.Members, 1, port) {
			assert.Equal(t, want, answer.Members[0].Backend)
		}
	}
	for port, why := range map[string]string{"": "set kubernetes.Config.Port", "grpc": `it has no port "grpc"`} {
		answer := lookup(t, kubernetes.Config{Port: port}, both, slice("b"))
		assert.Empty(t, answer.Members)
		if assert.Len(t, answer.Skipped, 1, "one without endpoints is not missed") {
			assert.ErrorContains(t, answer.Skipped[0], why)
		}
	}
}

func TestDualStack(t *testing.T) {
	v4, v6 := slice("v4", endpoint("10.0.0.1", ready)), slice("v6", endpoint("2001:db8::1", ready))
	v6.AddressType = discovery.AddressTypeIPv6
	for _, c := range []struct {
		family discover.Family
		slices []runtime.Object
		want   []string
	}{
		{discover.FamilyAuto, []runtime.Object{v4, v6}, []string{"10.0.0.1:8080"}},
		{discover.FamilyAuto, []runtime.Object{v6}, []string{"[2001:db8::1]:8080"}},
		{discover.FamilyIPv4, []runtime.Object{v4, v6}, []string{"10.0.0.1:8080"}},
		{discover.FamilyIPv6, []runtime.Object{v4, v6}, []string{"[2001:db8::1]:8080"}},
		{discover.FamilyBoth, []runtime.Object{v4, v6}, []string{"10.0.0.1:8080", "[2001:db8::1]:8080"}},
	} {
		var got []string
		for _, m := range lookup(t, kubernetes.Config{Family: c.family}, c.slices...).Members {
			got = append(got, m.Backend)
		}
		assert.ElementsMatch(t, c.want, got, "%d", c.family)
	}
}

// Slices of other Services and namespaces are not looked at.
func TestOnlyTheService(t *testing.T) {
	other, elsewhere := slice("b", endpoint("10.0.0.2", ready)), slice("c", endpoint("10.0.0.3", ready))
	other.Labels[discovery.LabelServiceName] = "payments"
	elsewhere.Namespace = "test"
	answer := lookup(t, kubernetes.Config{}, slice("a", endpoint("10.0.0.1", ready)), other, elsewhere)
	assert.Equal(t, []evenkeel.Member[string]{member("10.0.0.1:8080", 1, 0)}, answer.Members)
}

func members(pool *evenkeel.Pool[string]) (all []string) {
	for b, s := range pool.All() {
		if s.Weight > 0 {
			all = append(all, b)
		}
	}
	slices.Sort(all)
	return all
}

// await waits until these are the members that may get calls.
func await(pool *evenkeel.Pool[string], changed <-chan struct{}, want ...string) {
	for !slices.Equal(members(pool), want) {
		<-changed
	}
}

// A pool follows the slices as they change: the source says when to look, and not the
// interval.
func TestAPoolFollows(t *testing.T) {
	cluster := fake.NewClientset(slice("a", endpoint("10.0.0.1", ready), endpoint("10.0.0.2", ready)))
	source := newSource(t, cluster, kubernetes.Config{Port: "http"})
	defer source.Close()
	changed := make(chan struct{}, 100)
	pool, err := evenkeel.NewPool[string](evenkeel.Config{OnEvent: func(evenkeel.Event) { changed <- struct{}{} }})
	require.NoError(t, err)
	follower, err := discover.Follow(t.Context(), pool, source, discover.Config{Interval: time.Hour, MinInterval: time.Millisecond})
	require.NoError(t, err)
	defer follower.Close()
	await(pool, changed, "10.0.0.1:8080", "10.0.0.2:8080")

	api := cluster.DiscoveryV1().EndpointSlices("shop")
	_, err = api.Create(t.Context(), slice("b", endpoint("10.0.0.3", ready)), meta.CreateOptions{})
	require.NoError(t, err)
	await(pool, changed, "10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080")

	_, err = api.Update(t.Context(), slice("a", endpoint("10.0.0.1", leaving), endpoint("10.0.0.2", ready)), meta.UpdateOptions{})
	require.NoError(t, err)
	await(pool, changed, "10.0.0.2:8080", "10.0.0.3:8080")

	require.NoError(t, api.Delete(t.Context(), "a", meta.DeleteOptions{}))
	require.NoError(t, api.Delete(t.Context(), "b", meta.DeleteOptions{}))
	for follower.Stats().Empty == 0 {
		<-changed
	}
	assert.NotEmpty(t, members(pool), "an empty answer is kept from the pool")
}

// While the API server refuses, a lookup says so; when it is back, the answer comes.
func TestAnAPIServerThatIsNotThereYet(t *testing.T) {
	refused, asked := errors.New("connection refused"), make(chan struct{}, 100)
	var up atomic.Bool
	cluster := fake.NewClientset(slice("a", endpoint("10.0.0.1", ready)))
	cluster.PrependReactor("list", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked <- struct{}{}
		return !up.Load(), nil, refused
	})
	source := newSource(t, cluster, kubernetes.Config{})
	defer source.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		<-asked // the first refusal has been noted
		cancel()
	}()
	_, err := source.Lookup(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, refused.Error())
	assert.ErrorContains(t, err, "shop/orders")
	up.Store(true)
	answer, err := source.Lookup(t.Context())
	require.NoError(t, err)
	assert.Len(t, answer.Members, 1)
}

func TestNewSourceRefuses(t *testing.T) {
	_, err := kubernetes.NewSource(nil, "shop", "orders", kubernetes.Config{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
	_, err = kubernetes.NewSource(fake.NewClientset(), "", "orders", kubernetes.Config{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
	_, err = kubernetes.NewSource(fake.NewClientset(), "shop", "", kubernetes.Config{})
	assert.ErrorIs(t, err, evenkeel.ErrBadConfig)
}
