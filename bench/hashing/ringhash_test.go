package hashing

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/balancer"
	_ "google.golang.org/grpc/balancer/ringhash"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// grpcRingHash drives gRPC's policy ring_hash with connections that are ready at once. The
// key comes by a header, as an application gives it. Its ring has at least 16,000 points,
// or as many as GRPC_RING_HASH_CAP allows (4,096).
func grpcRingHash(t testing.TB, backends []string) func(string) string {
	builder := balancer.Get("ring_hash_experimental")
	cfg, err := builder.(balancer.ConfigParser).ParseConfig(json.RawMessage(`{"minRingSize": 16000, "maxRingSize": 160000, "requestHashHeader": "key"}`))
	require.NoError(t, err)
	conn := &fakeConn{}
	conn.changed.L = &conn.mu
	lb := builder.Build(conn, balancer.BuildOptions{})
	t.Cleanup(func() {
		lb.Close()
		conn.calls.Wait()
	})
	var state resolver.State
	for _, b := range backends {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: b}}})
	}
	require.NoError(t, lb.UpdateClientConnState(balancer.ClientConnState{ResolverState: state, BalancerConfig: cfg}))
	return func(key string) string {
		ctx := metadata.NewOutgoingContext(context.Background(), metadata.MD{"key": {key}})
		for {
			picker := conn.picker.Load()
			got, err := (*picker).Pick(balancer.PickInfo{Ctx: ctx})
			if err == nil {
				return got.SubConn.(*fakeSubConn).addr
			}
			require.ErrorIs(t, err, balancer.ErrNoSubConnAvailable) // it has begun to connect
			conn.waitForOther(picker)
		}
	}
}

// fakeConn is what a gRPC balancer sees of its channel.
type fakeConn struct {
	balancer.ClientConn
	picker  atomic.Pointer[balancer.Picker]
	mu      sync.Mutex
	changed sync.Cond
	calls   sync.WaitGroup // of listeners
}

func (c *fakeConn) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	return &fakeSubConn{conn: c, addr: addrs[0].Addr, listen: opts.StateListener}, nil
}

func (c *fakeConn) UpdateState(s balancer.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.picker.Store(&s.Picker)
	c.changed.Broadcast()
}

// waitForOther waits until the balancer has handed over another picker than old.
func (c *fakeConn) waitForOther(old *balancer.Picker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.picker.Load() == old {
		c.changed.Wait()
	}
}

func (c *fakeConn) MetricsRecorder() stats.MetricsRecorder {
	return &stats.UnimplementedMetricsRecorder{}
}

func (c *fakeConn) ResolveNow(resolver.ResolveNowOptions) {}
func (c *fakeConn) Target() string                        { return "test" }

// fakeSubConn is a connection that is ready as soon as it is asked for.
type fakeSubConn struct {
	balancer.SubConn
	conn   *fakeConn
	addr   string
	listen func(balancer.SubConnState)
}

func (s *fakeSubConn) Connect() {
	s.conn.calls.Go(func() {
		s.listen(balancer.SubConnState{ConnectivityState: connectivity.Connecting})
		s.listen(balancer.SubConnState{ConnectivityState: connectivity.Ready})
	})
}

func (s *fakeSubConn) Shutdown() {}

func (s *fakeSubConn) RegisterHealthListener(listen func(balancer.SubConnState)) {
	s.conn.calls.Go(func() { listen(balancer.SubConnState{ConnectivityState: connectivity.Ready}) })
}
