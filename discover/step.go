package discover

import (
	"context"
	"slices"

	"github.com/evenkeel-go/evenkeel"
)

// Step returns a Source whose answers are those of source after step, such as one that
// sets tiers by zone. step is given a copy that it may change and
// return.
func Step[T comparable](source Source[T], step func([]evenkeel.Member[T]) []evenkeel.Member[T]) Source[T] {
	return Func[T](func(ctx context.Context) (Answer[T], error) {
		answer, err := source.Lookup(ctx)
		if err == nil {
			answer.Members = step(slices.Clone(answer.Members))
		}
		return answer, err
	})
}

// Subset returns a Source whose answers are the part of those of source that choose
// returns, for a client of a fleet that is too large for every client to talk to every
// server. choose is given backends that all differ, in a slice of its own.
//
//	discover.Subset(source, func(all []string) []string { return subset.ByID(hostname, all, 20) })
func Subset[T comparable](source Source[T], choose func(backends []T) []T) Source[T] {
	return Func[T](func(ctx context.Context) (Answer[T], error) {
		answer, err := source.Lookup(ctx)
		if err != nil {
			return answer, err
		}
		all, skipped := tidy(answer.Members)
		backends := make([]T, len(all))
		for i, m := range all {
			backends[i] = m.Backend
		}
		chosen := index(all)
		answer.Members = nil
		for _, b := range choose(backends) {
			if m, is := chosen[b]; is {
				answer.Members = append(answer.Members, m)
			}
		}
		answer.Skipped = slices.Concat(answer.Skipped, skipped)
		return answer, nil
	})
}
