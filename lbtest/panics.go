package lbtest

import (
	"errors"
	"testing"

	"github.com/evenkeel-go/evenkeel"
)

// checkPanics: the load signal, which is the user's code, panics at each moment of
// a call at which it is asked. The call may panic or fail; it leaves no count and
// no lock behind.
func checkPanics(t testing.TB, construct constructor) {
	errOwn := errors.New("the signal's own panic")
	for _, cfg := range []evenkeel.Config{{}, {MaxInFlight: 2, Backlog: 1}} {
		for _, call := range subjectCalls {
			for moment := 1; moment <= maxMoments; moment++ {
				m := new(seam)
				s := openSignal(t, construct, m, cfg, "a", "b", "c")
				m.arm(moment, func() { panic(errOwn) })
				var got answer
				func() {
					defer func() {
						if v := recover(); v != nil && v != errOwn {
							panic(v)
						}
					}()
					call.ask(s, &got)
				}()
				got.lease.Release() // if the panic was recovered within the call
				if reached := m.disarm(); !reached {
					break
				}
				s.wantCounts(nil, "after the load signal panicked in a %s", call.name)
				var err error
				s.await(startAside(func() {
					for _, call := range subjectCalls {
						var next answer
						call.ask(s, &next)
						next.lease.Release()
						err = errors.Join(err, next.err)
					}
				}), "a call after one in which the load signal panicked")
				if err != nil {
					t.Fatalf("calls after one in which the load signal panicked: %v", err)
				}
				RequireIdle(t, s.pool)
			}
		}
	}
}
