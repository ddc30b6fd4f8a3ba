package evenkeel

import (
	"math"
	"time"
)

// Times are kept as the time since the pool was made; 0 stands for never where a time may
// be missing.

// forEver is the end of time.
const forEver = time.Duration(math.MaxInt64)

// later is at+d, or the end of time.
func later(at, d time.Duration) time.Duration { return at + min(d, forEver-at) }
