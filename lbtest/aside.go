package lbtest

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// An aside is a function on a goroutine of its own, beside one that is stopped in
// the middle of a call.
type aside struct {
	id    string // as stack traces name the goroutine: "goroutine 7"
	panic string // what it panicked with, and where; "" if it did not
	done  chan struct{}
}

func startAside(f func()) *aside {
	a := &aside{done: make(chan struct{})}
	id := make(chan string)
	go func() {
		defer close(a.done)
		id <- goroutineID()
		a.panic = panicOf(f)
	}()
	a.id = <-id
	return a
}

// panicOf runs f and returns what it panicked with, and where, "" if it did not.
func panicOf(f func()) (panicked string) {
	defer func() {
		if v := recover(); v != nil {
			panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
	}()
	f()
	return ""
}

// looksAtSpinning is how often settle looks at a goroutine that neither ends nor
// blocks: one that spins. Each look stops all goroutines for a moment, which a
// running one must agree to, so the goroutine gets on between two looks.
const looksAtSpinning = 200

// settle returns when f has returned or can get no further by itself: it waits for
// something, perhaps for the call that is stopped. It reports whether f has
// returned.
func (a *aside) settle() (returned bool) {
	for range 100 { // as a rule f returns soon
		if a.hasReturned() {
			return true
		}
		runtime.Gosched()
	}
	for range looksAtSpinning {
		if a.hasReturned() {
			return true
		}
		if isBlocked(a.id) {
			return a.hasReturned()
		}
		runtime.Gosched()
	}
	return a.hasReturned()
}

func (a *aside) hasReturned() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// goroutineID is how stack traces name the calling goroutine.
func goroutineID() string {
	header := make([]byte, 64)
	words := bytes.Fields(header[:runtime.Stack(header, false)])
	return string(words[0]) + " " + string(words[1])
}

// blocked are the states in which a goroutine waits for another one or for time,
// as stack traces begin them.
var blocked = []string{"chan receive", "chan send", "select", "semacquire", "sleep", "sync."}

// isBlocked reports whether a goroutine waits, by its state in a stack trace.
// Nothing else in Go tells of a goroutine that waits for a mutex: testing/synctest
// does not count it as blocked.
func isBlocked(id string) bool {
	all := make([]byte, 1<<16)
	for {
		n := runtime.Stack(all, true)
		if n < len(all) {
			all = all[:n]
			break
		}
		all = make([]byte, 2*len(all))
	}
	_, header, _ := strings.Cut("\n"+string(all), "\n"+id+" ")
	header, _, _ = strings.Cut(header, "\n") // "" if the goroutine has ended
	_, state, _ := strings.Cut(header, "[")
	for _, b := range blocked {
		if strings.HasPrefix(state, b) {
			return true
		}
	}
	return false
}
