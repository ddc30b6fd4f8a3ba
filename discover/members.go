package discover

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/evenkeel-go/evenkeel"
)

// tidy returns the members without duplicates and without those that no pool takes,
// and says which those are.
func tidy[T comparable](members []evenkeel.Member[T]) (good []evenkeel.Member[T], skipped []error) {
	at := make(map[T]int, len(members))
	for _, m := range members {
		if err := check(m); err != nil {
			skipped = append(skipped, err)
			continue
		}
		i, twice := at[m.Backend]
		switch {
		case !twice:
			at[m.Backend] = len(good)
			good = append(good, m)
		case better(m, good[i]):
			good[i] = m
		}
	}
	return good, skipped
}

// better reports whether a, and not b, stands for a backend that is listed twice.
func better[T comparable](a, b evenkeel.Member[T]) bool {
	return cmp.Or(cmp.Compare(b.Tier, a.Tier), cmp.Compare(a.Weight, b.Weight)) > 0
}

func check[T comparable](m evenkeel.Member[T]) error {
	switch {
	case !reflect.ValueOf(&m.Backend).Elem().Comparable() || m.Backend != m.Backend:
		return fmt.Errorf("%w: %v cannot be compared", evenkeel.ErrBadBackend, m.Backend)
	case !(m.Weight >= 0) || math.IsInf(m.Weight, 0):
		return fmt.Errorf("%w: weight %v for backend %v; it must be 0 (drain) or a positive number", evenkeel.ErrBadBackend, m.Weight, m.Backend)
	case m.Tier < 0:
		return fmt.Errorf("%w: tier %d for backend %v; the first tier is 0", evenkeel.ErrBadBackend, m.Tier, m.Backend)
	}
	return nil
}

// usable is how many of the members could get calls.
func usable[T comparable](members []evenkeel.Member[T]) (n int) {
	for _, m := range members {
		if m.Weight > 0 {
			n++
		}
	}
	return n
}

// drained is how many of the old members that could get calls are drained in the new list.
func drained[T comparable](old, new []evenkeel.Member[T]) (n int) {
	now := index(new)
	for _, m := range old {
		if new, is := now[m.Backend]; m.Weight > 0 && is && new.Weight == 0 {
			n++
		}
	}
	return n
}

// union adds to members those of more whose backends are not among them.
func union[T comparable](members, more []evenkeel.Member[T]) []evenkeel.Member[T] {
	have := index(members)
	all := slices.Clone(members)
	for _, m := range more {
		if _, in := have[m.Backend]; !in {
			all = append(all, m)
		}
	}
	return all
}

// compare finds the difference between two lists, and puts the new one in the order of
// the old one: those that stay first.
func compare[T comparable](old, new []evenkeel.Member[T]) (ordered []evenkeel.Member[T], d difference) {
	now := index(new)
	for _, m := range old {
		n, stays := now[m.Backend]
		if !stays {
			d.left++
			continue
		}
		if n != m {
			d.altered++
		}
		ordered = append(ordered, n)
	}
	stayed := len(ordered)
	ordered = append(ordered, union(old, new)[len(old):]...)
	d.joined = len(ordered) - stayed
	return ordered, d
}

func index[T comparable](members []evenkeel.Member[T]) map[T]evenkeel.Member[T] {
	all := make(map[T]evenkeel.Member[T], len(members))
	for _, m := range members {
		all[m.Backend] = m
	}
	return all
}

// join makes one error of the entries that were left out; nil if there were none.
func join(skipped []error) error {
	const most = 3 // an answer may be full of them
	if len(skipped) > most {
		skipped = append(slices.Clone(skipped[:most]), fmt.Errorf("and %d more", len(skipped)-most))
	}
	return errors.Join(skipped...)
}
