package carp_test

import (
	"context"
	"fmt"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/carp"
)

// Calls with one key go to one server, and to the same next one while that is out.
func Example() {
	pool, err := evenkeel.NewPool(evenkeel.Config{}, "cache-1:6379", "cache-2:6379", "cache-3:6379")
	if err != nil {
		fmt.Println(err)
		return
	}
	lb := carp.New(pool)
	ask := func(key string) {
		ctx := carp.WithKey(context.Background(), key)
		_ = evenkeel.Do(ctx, lb, func(_ context.Context, backend string) error {
			fmt.Println(key, "is asked for at", backend)
			return nil
		})
	}
	ask("user:42")
	ask("user:42")
	ask("user:7")
	_ = pool.Eject("cache-3:6379")
	ask("user:42")
	ask("user:7")
	// Output:
	// user:42 is asked for at cache-3:6379
	// user:42 is asked for at cache-3:6379
	// user:7 is asked for at cache-2:6379
	// user:42 is asked for at cache-1:6379
	// user:7 is asked for at cache-2:6379
}
