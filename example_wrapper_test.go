package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// logged is a balancer that writes down what it leases. It embeds the balancer that it
// wraps, so it loses nothing; both ways to lease go through LeaseFor. Named results hand
// the Lease on without a copy that go vet would report.
type logged struct {
	evenkeel.Balancer[string]
}

func (l logged) Lease(ctx context.Context) (evenkeel.Lease[string], error) {
	return l.LeaseFor(ctx, evenkeel.Call[string]{})
}

func (l logged) LeaseFor(ctx context.Context, call evenkeel.Call[string]) (lease evenkeel.Lease[string], err error) {
	lease, err = l.Balancer.LeaseFor(ctx, call)
	fmt.Printf("key %q, tried %v: %v\n", call.Key, call.Avoid, lease.Backend())
	return
}

// A balancer is wrapped by embedding it.
func ExampleBalancer() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:80")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := logged{p2c.New(pool)}
	_ = evenkeel.Do(context.Background(), lb, func(context.Context, string) error { return nil })
	// Output: key "", tried []: 10.0.0.1:80
}

// zone prefers the backends of one zone, and among them the less loaded of all. It falls
// back to the others where the zone has none that may be taken.
type zone struct{ prefix string }

func (z zone) Choose(v evenkeel.View) (at int, best evenkeel.Load) {
	at = -1
	for i := range v.Len() {
		if !strings.HasPrefix(v.Backend(i).(string), z.prefix) {
			continue
		}
		if l := v.Load(i); at < 0 || l.Less(best) {
			at, best = i, l
		}
	}
	if at < 0 {
		return sqf.Policy{}.Choose(v)
	}
	return at, best
}

// A policy of one's own sees the backends, their loads, and the call's key.
func ExamplePolicy() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "eu/1", "eu/2", "us/1")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := evenkeel.NewDispatcher(pool, zone{"us/"})
	backend, _ := lb.Pick()
	fmt.Println(backend)
	_ = pool.Eject("us/1")
	backend, _ = lb.Pick()
	fmt.Println(strings.HasPrefix(backend, "eu/"))
	// Output:
	// us/1
	// true
}

// session keeps a call on the backend that its key names, as long as that one may be
// taken.
type session struct{ otherwise evenkeel.Policy }

func (s session) Choose(v evenkeel.View) (int, evenkeel.Load) {
	for i := range v.Len() {
		if v.Key() != "" && v.Backend(i) == v.Key() {
			return i, v.Load(i)
		}
	}
	return s.otherwise.Choose(v)
}

// F195: a policy from outside keeps a session on its backend, without losing counts,
// ejection or retries.
func TestF195Session(t *testing.T) {
	pool := newPool(t, evenkeel.Config{}, "A", "B", "C")
	lb := evenkeel.NewDispatcher(pool, session{p2c.Policy{}})
	lbtest.Run(t, func(pool *evenkeel.Pool[string]) *evenkeel.Dispatcher[string] {
		return evenkeel.NewDispatcher(pool, session{p2c.Policy{}})
	})
	mine := evenkeel.Call[string]{Key: "B"}
	for range 20 {
		lease, err := lb.LeaseFor(t.Context(), mine)
		require.NoError(t, err)
		assert.Equal(t, "B", lease.Backend())
		assert.Equal(t, 1, pool.InFlight("B"))
		lease.Done(nil)
	}
	lease, err := lb.LeaseFor(t.Context(), evenkeel.Call[string]{Key: "B", Avoid: []string{"B"}})
	require.NoError(t, err)
	assert.NotEqual(t, "B", lease.Backend(), "a retry goes elsewhere")
	lease.Done(errors.New("no luck"))
	failOn(t, pool, "B", 5)
	lease, err = lb.LeaseFor(t.Context(), mine)
	require.NoError(t, err)
	assert.NotEqual(t, "B", lease.Backend(), "an ejected backend has no sessions")
	lease.Done(nil)
}
