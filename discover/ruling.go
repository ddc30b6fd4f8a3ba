package discover

import (
	"fmt"
	"strings"
)

// A ruling is what follows from a lookup.
type ruling int

const (
	believed ruling = iota // the members are those of the answer
	failed                 // the lookup failed: the members stay
	empty                  // the answer is empty: the members stay
	shrunk                 // the answer leaves out too many: these stay, new ones have joined
	dropped                // there was no answer for too long: the members are gone
)

// text says what a ruling means, as a format for the number of members.
func (r ruling) text() string {
	return [...]string{
		believed: "the source is believed again: %d members",
		failed:   "the lookup failed: %d members are kept",
		empty:    "the answer is empty: %d members are kept",
		shrunk:   "the answer leaves out too many: %d members are kept",
		dropped:  "no answer for too long: %d members are left",
	}[r]
}

// difference is how one list of members differs from another, their order aside.
type difference struct{ joined, left, altered int }

// none reports whether the two lists are the same.
func (d difference) none() bool { return d == difference{} }

func (d difference) text() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{d.joined, "joined"}, {d.left, "left"}, {d.altered, "altered"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}
