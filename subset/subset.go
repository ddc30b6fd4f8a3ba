// Package subset chooses, for a client of a large fleet, the few backends that it talks to,
// so that a fleet of n backends and many clients does not need a connection between each
// two of them.
//
//	few := subset.ByID(hostname, all, 20)         // every client has an id
//	few := subset.ByNumber(ordinal, all, 20)      // clients are numbered 0, 1, 2, ...
//	err := pool.Replace(few...)
//
// Both are pure functions: the same on every machine, whatever the order of the backends.
// When one backend leaves or joins, a client keeps its subset but for one entry. They differ
// in how evenly many clients are spread over the backends:
//
//   - ByID takes the k first of the client's own random order (rendezvous hashing). Where
//     the backend that leaves is not in the subset, nothing changes. The number of a
//     backend's clients is binomial: of C clients its mean is m = C k / n, and its standard
//     deviation just below the root of m.
//   - ByNumber spreads clients with numbers 0 to C-1 evenly: two backends differ in their
//     number of clients by no more than the number of ones in C written in binary, so by 1
//     if C is a power of two. It takes k neighbours of one circle of all backends, so about
//     four of ten subsets change by one entry when any backend leaves, and one that contains
//     the circle's end can change by two: with k = n/10 fewer than one in 1,000 do.
//
// It is a package of its own since it is about who is a member, and not about which member
// gets a call: whoever fills a pool calls it, with any policy, and needs no balancer for it.
package subset

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/evenkeel-go/evenkeel/internal/draw"
)

// ByID returns k of the backends for the client with that id, in the order in which they
// stand in the list: all of them if k is not below their number, and none if k is not above
// 0. The backends must differ. It takes O(n log n) time.
func ByID[S ~string](id string, backends []S, k int) []S {
	return pick(backends, k, draw.Hash(id), 0)
}

// ByNumber is ByID for clients that are numbered from 0 on without gaps, as the pods of a
// StatefulSet are. Gaps cost evenness only. A negative number is a client as well.
func ByNumber[S ~string](number int, backends []S, k int) []S {
	// Bits in reverse order, as a fraction of 1: the van der Corput sequence. A block of
	// 2^b numbers from a multiple of 2^b on is a grid of distance 2^-b. A backend has those
	// clients whose fraction lies in a half-open arc of length k/n, which holds the same
	// number of a grid's points, give or take 1. C numbers are as many such blocks as C has
	// ones.
	at := bits.Reverse64(uint64(number))
	start, _ := bits.Mul64(at, uint64(len(backends)))
	return pick(backends, k, 0, int(start))
}

// pick orders the backends by their hash with salt, in a circle, and takes k from start on.
//
// When one backend leaves, the others stay in their order, and start, which is a fraction of
// n rounded down, moves by one place or not at all. So the k places hold at most one backend
// that they did not hold before. The exception is a circle's end within the k places: if
// start does not move, and the backend that leaves stands between the circle's begin and the
// last of the k places, they hold two.
func pick[S ~string](backends []S, k int, salt uint64, start int) []S {
	n := len(backends)
	if k <= 0 {
		return nil
	}
	if k >= n {
		return slices.Clone(backends)
	}
	type place struct {
		hash uint64
		at   int
	}
	circle := make([]place, n)
	for i, b := range backends {
		circle[i] = place{draw.Mix(salt ^ draw.Hash(string(b))), i}
	}
	slices.SortFunc(circle, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(backends[a.at], backends[b.at]))
	})
	taken := make([]int, k)
	for i := range taken {
		taken[i] = circle[(start+i)%n].at
	}
	slices.Sort(taken)
	list := make([]S, k)
	for i, at := range taken {
		list[i] = backends[at]
	}
	return list
}
