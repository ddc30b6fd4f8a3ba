package roundrobin

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/evenkeel-go/evenkeel"
)

// A round is the order of turns for one set of backends. It never changes, but
// for the counter.
type round struct {
	ids   []uint64
	turns []int32 // whose turn it is; nil: 0, 1, 2, ...
	taken atomic.Uint64
}

func newRound(v evenkeel.View) *round {
	r := &round{ids: make([]uint64, v.Len())}
	for i := range r.ids {
		r.ids[i] = v.ID(i)
	}
	if v.Weighted() {
		weights := make([]float64, v.Len())
		for i := range weights {
			weights[i] = v.Weight(i)
		}
		r.turns = interleave(turnCounts(weights))
	}
	return r
}

func (r *round) len() int {
	if r.turns != nil {
		return len(r.turns)
	}
	return len(r.ids)
}

func (r *round) at(turn uint64) int {
	k := int(turn % uint64(r.len()))
	if r.turns != nil {
		return int(r.turns[k])
	}
	return k
}

// startAt makes turn the next one. A whole round is put before it, so that there
// is a turn before it too.
func (r *round) startAt(turn int) { r.taken.Store(uint64(r.len() + turn)) }

// take returns whose turn it is and ends the turn.
func (r *round) take() int { return r.at(r.taken.Add(1) - 1) }

// follow makes r go on where old has stopped: behind the backend taken last. Where
// that has several turns it is the one at about the same part of the round, so
// that those with few turns get theirs too. If that backend is gone, r goes on
// with the first one behind it in the old order that is still there. It reports
// whether there was any.
func (r *round) follow(old *round) bool {
	done := old.taken.Load()
	place := make(map[uint64]int, len(r.ids))
	for i, id := range r.ids {
		place[id] = i
	}
	part := int(done % uint64(old.len()) * uint64(r.len()) / uint64(old.len()))
	if i, ok := place[old.ids[old.at(done-1)]]; ok {
		r.startAt(r.nearest(part-1, i) + 1)
		return true
	}
	for k := range uint64(old.len()) {
		if i, ok := place[old.ids[old.at(done+k)]]; ok {
			r.startAt(r.nearest(part, i))
			return true
		}
	}
	return false
}

// nearest returns the turn of backend i that is nearest to a given one, the round
// being a circle.
func (r *round) nearest(turn, i int) int {
	if r.turns == nil {
		return i
	}
	n := r.len()
	for d := range n {
		for _, k := range [2]int{(turn - d + n) % n, (turn + d + n) % n} {
			if int(r.turns[k]) == i {
				return k
			}
		}
	}
	return 0 // every backend has a turn
}

// turnCounts returns how many turns each backend has in a round: exactly in
// proportion to the weights if a round of moderate length allows it, else as near
// as that length does, and at least 1.
func turnCounts(weights []float64) []int {
	most := float64(max(1024, 4*len(weights)))
	least, sum := slices.Min(weights), 0.0
	for _, w := range weights {
		sum += w
	}
	counts := make([]int, len(weights))
	for scale := 1.0; scale <= 64 && sum/least*scale <= most; scale++ {
		exact := true
		for i, w := range weights {
			turns := w / least * scale
			counts[i] = int(math.Round(turns))
			exact = exact && math.Abs(turns-math.Round(turns)) < 1e-9*turns
		}
		if exact {
			return counts
		}
	}
	for i, w := range weights {
		counts[i] = max(1, int(math.Round(w/sum*most)))
	}
	return counts
}

// interleave spreads the turns out over a round of length 1: the c turns of a
// backend stand 1/c apart, and backends with the same number of turns are shifted
// against each other, so that nobody's turns come in a row if they need not.
func interleave(counts []int) []int32 {
	type turn struct {
		at  float64
		who int32
	}
	alike, before := map[int]int{}, map[int]int{} // backends, by their number of turns
	for _, c := range counts {
		alike[c]++
	}
	var turns []turn
	for i, c := range counts {
		shift := (float64(before[c]) + 0.5) / float64(alike[c])
		before[c]++
		for k := range c {
			turns = append(turns, turn{(float64(k) + shift) / float64(c), int32(i)})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	order := make([]int32, len(turns))
	for k, t := range turns {
		order[k] = t.who
	}
	return order
}
