package discover

import (
	"fmt"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// keeper decides what the answers of a source do to the members. It holds the promise
// of the package, and reads no clock.
type keeper[T comparable] struct {
	maxShrink   float64
	shrinkAfter time.Duration
	maxStale    time.Duration

	members []evenkeel.Member[T] // the pool's
	good    []evenkeel.Member[T] // of the last answer that was believed
	silent  time.Time            // since when there has been no answer with members; zero: the last lookup brought one
	shrunk  time.Time            // since when the answers leave out too many; zero: they do not
}

// rule takes an answer whose members are tidy, and returns the members to have from now
// on, with the reason where they are not those of the answer.
func (k *keeper[T]) rule(answer []evenkeel.Member[T], err error, now time.Time) ([]evenkeel.Member[T], ruling, error) {
	left := usable(answer)
	if (err != nil || left == 0) && k.silent.IsZero() {
		k.silent = now
	}
	switch {
	case err != nil:
		return k.members, failed, err
	case left == 0:
		return k.members, empty, ErrEmpty
	}
	k.silent = time.Time{}
	were := usable(k.good)
	if float64(were-left-drained(k.good, answer)) <= k.maxShrink*float64(were) {
		k.shrunk = time.Time{}
	} else if k.shrunk.IsZero() {
		k.shrunk = now
	}
	if !k.shrunk.IsZero() && (k.shrinkAfter < 0 || now.Sub(k.shrunk) < k.shrinkAfter) {
		return union(answer, k.good), shrunk, fmt.Errorf("%w: %d are left of %d", ErrShrunk, left, were)
	}
	k.shrunk = time.Time{}
	k.good = answer
	return answer, believed, nil
}

// staleAt is when the members are given up unless an answer comes, if that is at all.
func (k *keeper[T]) staleAt() (at time.Time, any bool) {
	return k.silent.Add(k.maxStale), k.maxStale > 0 && len(k.members) > 0 && !k.silent.IsZero()
}

// drop forgets the last good answer: whatever the next one holds is believed.
func (k *keeper[T]) drop() { k.good, k.shrunk = nil, time.Time{} }
