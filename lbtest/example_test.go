package lbtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/lbtest"
	"github.com/evenkeel-go/evenkeel/p2c"
)

// A test of a program that uses a balancer: at its end nothing is in flight.
func TestClient(t *testing.T) {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:8080", "10.0.0.2:8080")
	if err != nil {
		t.Fatal(err)
	}
	lb := p2c.New(pool)
	err = evenkeel.Do(t.Context(), lb, func(ctx context.Context, backend string) error { return nil })
	if err != nil {
		t.Error(err)
	}
	lbtest.RequireIdle(t, pool)
}

// A test of a balancer of one's own.
func TestMyBalancer(t *testing.T) {
	lbtest.Run(t, NewFirst)
}

// NewFirst returns a balancer that always takes the first backend that is in: the rest stand by.
func NewFirst(pool *evenkeel.Pool[string]) *evenkeel.Dispatcher[string] {
	return evenkeel.NewDispatcher(pool, first{})
}

type first struct{}

func (first) Choose(evenkeel.View) (int, evenkeel.Load) { return 0, evenkeel.Load{} }

// printer stands in for the *testing.T of a user's test.
type printer struct{ testing.TB }

func (printer) Helper() {}

func (printer) Fatalf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleRequireIdle() {
	var t printer
	pool, _ := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:8080")
	lb := p2c.New(pool)

	lease, _ := lb.Lease(context.Background())
	lbtest.RequireIdle(t, pool) // the call is not over yet
	lease.Done(nil)
	lbtest.RequireIdle(t, pool) // now it is
	// Output:
	// lbtest: leases still open, by backend: 10.0.0.1:8080: 1; every Lease needs its Done or Release, every HTTP body its Close
}
