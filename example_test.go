package evenkeel_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/sqf"
)

func Example() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := p2c.New(pool)

	lease, err := lb.Lease(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release() // whatever happens
	fmt.Println("in flight:", pool.InFlight(lease.Backend()))

	// ... make the call to lease.Backend() here ...
	lease.Done(nil)
	fmt.Println("in flight:", pool.InFlight(lease.Backend()))
	// Output:
	// in flight: 1
	// in flight: 0
}

func ExampleDo() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "10.0.0.1:8080", "10.0.0.2:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = evenkeel.Do(context.Background(), p2c.New(pool), func(ctx context.Context, backend string) error {
		return errors.New("connection refused") // the call to backend
	})
	fmt.Println(err)
	// Output: connection refused
}

// A retry is a new lease on a backend that was not tried yet.
func ExampleDispatcher_LeaseFor() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "c")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := p2c.New(pool)
	var tried []string
	for {
		lease, err := lb.LeaseFor(context.Background(), evenkeel.Call[string]{Avoid: tried})
		if err != nil {
			fmt.Println(len(tried), "tried:", errors.Is(err, evenkeel.ErrNoBackends))
			return
		}
		tried = append(tried, lease.Backend())
		lease.Done(errors.New("no luck"))
	}
	// Output: 3 tried: true
}

// The members of a pool change while it is in use: those that stay keep their
// counts, those that go finish what they have.
func ExamplePool_Replace() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "old")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := sqf.New(pool)
	lease, err := lb.Lease(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := pool.Replace("new"); err != nil {
		fmt.Println(err)
		return
	}
	backend, _ := lb.Pick()
	fmt.Println("picked:", backend)
	for b, s := range pool.Leaving() {
		fmt.Println("leaving:", b, s.InFlight)
	}
	lease.Release()
	fmt.Println(pool.Replace("new", "new"))
	// Output:
	// picked: new
	// leaving: old 1
	// evenkeel: duplicate backend: new stands twice; nothing was changed
}

func ExamplePool_All() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b", "c")
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = pool.Eject("b")
	_ = pool.SetWeight("c", 0)
	for backend, s := range pool.All() {
		fmt.Println(backend, s.State, s.InFlight, s.Used)
	}
	// Output:
	// a active 0 true
	// b ejected by hand 0 false
	// c drained 0 false
}

// A load of one's own: here the bytes that are queued for each backend.
func ExamplePool_SetLoad() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "a", "b")
	if err != nil {
		fmt.Println(err)
		return
	}
	queued := map[string]int{"a": 5000, "b": 200}
	pool.SetLoad(each(func(backend string, inFlight int) float64 { return float64(queued[backend]) }))
	backend, _ := sqf.New(pool).Pick()
	fmt.Println(backend)
	// Output: b
}

// A policy of one's own reads loads and returns an index. lbtest.Run checks the
// balancer that it makes.
func ExampleNewDispatcher() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "main", "standby")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := evenkeel.NewDispatcher(pool, overflow{})
	for range 4 {
		lease, err := lb.Lease(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		defer lease.Release()
		fmt.Println(lease.Backend())
	}
	// Output:
	// main
	// main
	// standby
	// standby
}

// overflow takes the first backend that has fewer than two calls in flight, or
// the last.
type overflow struct{}

func (overflow) Choose(v evenkeel.View) (int, evenkeel.Load) {
	for i := range v.Len() - 1 {
		if l := v.Load(i); l.Value() < 2 {
			return i, l
		}
	}
	last := v.Len() - 1
	return last, v.Load(last)
}
