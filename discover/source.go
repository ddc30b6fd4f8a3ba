package discover

import (
	"context"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// A Source knows who the members of a pool are. A source that several Followers share
// must be safe for concurrent use; those of this package are.
type Source[T comparable] interface {
	// Lookup returns the members that there are now. It must end soon after ctx has.
	//
	// An error says that nothing is known; the pool then keeps what it has. An answer
	// without members is kept from the pool too (see the package comment). An error that
	// matches evenkeel.ErrBadConfig says that no lookup can ever succeed: before the
	// first answer, Follow returns it at once.
	Lookup(ctx context.Context) (Answer[T], error)
}

// Answer is what a Source found. Its slices are the Follower's from then on.
type Answer[T comparable] struct {
	Members []evenkeel.Member[T]

	// TTL is how long the answer is good. 0: the source does not say. It only makes the
	// next lookup come sooner than Config.Interval.
	TTL time.Duration

	// Changed is closed when the source knows that the answer is no longer right; the
	// next lookup then comes at once. nil: the source does not notice. TTL and Changed
	// count also beside an error.
	Changed <-chan struct{}

	// Skipped says which entries were left out of Members, and why.
	Skipped []error
}

// Backends returns an Answer of the given backends, each with weight 1 in tier 0.
func Backends[T comparable](backends ...T) Answer[T] {
	members := make([]evenkeel.Member[T], len(backends))
	for i, b := range backends {
		members[i] = evenkeel.Member[T]{Backend: b, Weight: 1}
	}
	return Answer[T]{Members: members}
}

// Func is a function as a Source: the way to plug in a registry of any kind.
type Func[T comparable] func(ctx context.Context) (Answer[T], error)

// Lookup calls f.
func (f Func[T]) Lookup(ctx context.Context) (Answer[T], error) { return f(ctx) }

// Static returns a Source that always answers with the given backends.
func Static[T comparable](backends ...T) Source[T] {
	return Func[T](func(context.Context) (Answer[T], error) { return Backends(backends...), nil })
}
