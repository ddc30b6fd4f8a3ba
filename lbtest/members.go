package lbtest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// These checks are about who may be picked.

func checkEmpty(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{})
	s.refuses("from a pool made empty")
	s.must(s.pool.Replace("a"))
	s.onlyUsable("after Replace brought the first one")
	s.must(s.pool.Replace())
	s.refuses("after an empty Replace")
	s.must(s.pool.Replace("b"))
	s.onlyUsable("after Replace brought another one")
	RequireIdle(t, s.pool)
}

func checkAllEjected(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c")
	open := s.lease()
	for _, b := range []string{"a", "b", "c"} {
		s.must(s.pool.Eject(b))
	}
	s.refuses("with all ejected by hand")
	s.wantCounts(map[string]int{open.Backend(): 1}, "with all ejected and one lease open from before")
	s.must(s.pool.Restore("b"))
	s.onlyUsable("with all but \"b\" ejected by hand")
	open.Release()
	RequireIdle(t, s.pool)
}

func checkAllDrained(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b")
	open := s.lease()
	s.must(s.pool.SetWeight("a", 0))
	s.must(s.pool.SetWeight("b", 0))
	s.refuses("with all drained")
	s.wantCounts(map[string]int{open.Backend(): 1}, "with all drained and one lease open from before")
	s.must(s.pool.SetWeight("b", 2))
	s.onlyUsable("with all but \"b\" drained")
	open.Release()
	RequireIdle(t, s.pool)
}

func checkEject(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c", "d")
	for _, b := range []string{"a", "b", "c", "d"} {
		_, _ = s.lb.Pick() // it may have it in mind
		s.must(s.pool.Eject(b))
		s.onlyUsable("after it was ejected")
		s.must(s.pool.Restore(b))
		s.onlyUsable("after it was restored")
	}
	for _, b := range []string{"a", "b", "c"} {
		s.must(s.pool.Eject(b))
	}
	s.onlyUsable("with all but \"d\" ejected")
	RequireIdle(t, s.pool)
}

func checkDrain(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c", "d")
	for i, b := range []string{"a", "b", "c", "d"} {
		_, _ = s.lb.Pick()
		s.must(s.pool.SetWeight(b, 0))
		s.onlyUsable("while it was drained")
		s.must(s.pool.SetWeight(b, float64(i)+0.5))
		s.onlyUsable("with weights that differ")
	}
	RequireIdle(t, s.pool)
}

func checkHealth(t testing.TB, construct constructor) {
	s := newSubject(t, construct, evenkeel.Config{}, "a", "b", "c", "d")
	for _, b := range []string{"a", "b", "c", "d"} {
		_, _ = s.lb.Pick()
		s.must(setHealth(s.pool, b, errDown))
		s.onlyUsable("while health checks find it down")
		s.must(setHealth(s.pool, b, nil))
		s.onlyUsable("after health checks found it up again")
	}
	for _, b := range []string{"a", "b", "c", "d"} {
		s.must(setHealth(s.pool, b, errDown))
	}
	s.onlyUsable("when health checks find all down, so that none of them is believed")
	RequireIdle(t, s.pool)
}

var errDown = errors.New("a health check failed")

// setHealth is what a health check found: nil is up.
func setHealth(pool *evenkeel.Pool[string], backend string, err error) error {
	return pool.SetHealth(backend, err)
}

// checkEjectedByOutcome: a failed call takes each backend out once.
func checkEjectedByOutcome(t testing.TB, construct constructor) {
	for _, out := range []string{"a", "b", "c", "d"} {
		s := newSubject(t, construct, evenkeel.Config{
			Ejection: evenkeel.Ejection{Consecutive: 1},
			Now:      func() time.Time { return time.Unix(1_000_000, 0) }, // the ejection does not end
		}, append(without(out, "a", "b", "c", "d"), out)...)
		_, _ = s.lb.Pick()
		s.failOnce(out)
		s.onlyUsable("after its failures ejected it")
		RequireIdle(t, s.pool)
	}
}

// without is the list but for one.
func without(but string, list ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(b string) bool { return b == but })
}

// checkReplace lets the set shrink, grow and change its order.
func checkReplace(t testing.TB, construct constructor) {
	names := func(from, to int) (list []string) {
		for i := from; i < to; i++ {
			list = append(list, fmt.Sprint("backend-", i))
		}
		return list
	}
	s := newSubject(t, construct, evenkeel.Config{}, names(0, 20)...)
	for _, next := range [][]string{
		names(0, 1), names(1, 2), names(0, 20), names(10, 12), names(10, 40), names(5, 15),
		{"backend-7", "backend-5"}, {"backend-5", "backend-7"}, {"backend-7"},
	} {
		_, _ = s.lb.Pick()
		s.must(s.pool.Replace(next...))
		s.onlyUsable("after Replace left it out")
	}
	RequireIdle(t, s.pool)
}

// checkLastOne: if one backend is left of many it is found, whichever it is.
func checkLastOne(t testing.TB, construct constructor) {
	backends := []string{"a", "b", "c", "d", "e"}
	for _, left := range backends {
		s := newSubject(t, construct, evenkeel.Config{}, backends...)
		for _, b := range backends {
			if b != left {
				s.must(s.pool.Eject(b))
			}
		}
		s.onlyUsable(fmt.Sprintf("with only %q left", left))
		RequireIdle(t, s.pool)
	}
}
