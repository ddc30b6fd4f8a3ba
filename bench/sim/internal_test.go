package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func ulps(a, b float64) float64 {
	return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
}

func TestPortableFunctionsAreWithinAnUlp(t *testing.T) {
	s := NewStream(1, 1)
	worst := 0.0
	for range 100_000 {
		u := s.Unit()
		worst = max(worst, ulps(portableLog(u), math.Log(u)), ulps(portableLog(1e6*u), math.Log(1e6*u)))
		x := 200 * (u - 0.5)
		worst = max(worst, ulps(portableExp(x), math.Exp(x)))
	}
	assert.LessOrEqual(t, worst, 2.0) // each within 1 of the truth
	assert.Zero(t, portableLog(1))
	assert.Equal(t, 1.0, portableExp(0))
}

func TestStreamMoments(t *testing.T) {
	s := NewStream(5, 2)
	const n = 200_000
	var exp, exp2, norm, norm2, unit float64
	for range n {
		e, z := s.Exp(), s.Normal()
		exp += e / n
		exp2 += e * e / n
		norm += z / n
		norm2 += z * z / n
		unit += s.Unit() / n
	}
	assert.InDelta(t, 1, exp, 0.01)
	assert.InDelta(t, 2, exp2, 0.05)
	assert.InDelta(t, 0, norm, 0.01)
	assert.InDelta(t, 1, norm2, 0.02)
	assert.InDelta(t, 0.5, unit, 0.005)
	assert.NotEqual(t, NewStream(5, 1).Uint64(), NewStream(5, 2).Uint64())
}

func TestAgendaIsInOrderWhateverIsAdded(t *testing.T) {
	s := NewStream(3, 1)
	var g agenda
	var want []event
	took := 0
	last := event{}
	for range 4_000 {
		if s.Intn(5) < 3 {
			k, at := kind(s.Intn(int(kindArrive)+1)), last.at+float64(s.Intn(8))
			if at == last.at && k < last.kind() {
				k = last.kind()
			}
			g.add(k, at, int32(s.Intn(100)), 0, 0)
			want = append(want, event{at: at, rank: uint64(k)<<56 | g.count})
			continue
		}
		e := g.next()
		if e == nil {
			continue
		}
		least := slices.MinFunc(want, func(a, b event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		assert.Equal(t, least.rank, e.rank)
		last = g.take()
		want = slices.DeleteFunc(want, func(e event) bool { return e.rank == last.rank })
		took++
	}
	assert.Greater(t, took, 1000)
}

func TestRingKeepsOrderWhileItGrows(t *testing.T) {
	var r ring
	s := NewStream(9, 1)
	in, out := int32(0), int32(0)
	for range 10_000 {
		if s.Intn(3) > 0 {
			r.push(in)
			in++
		} else if r.size > 0 {
			assert.Equal(t, out, r.pop())
			out++
		}
	}
	assert.Equal(t, int(in-out), r.size)
}
