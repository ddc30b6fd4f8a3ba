package evenkeel

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// A slot is the part of a member that picks read and calls write. It is apart from
// the member, so that policies need not be generic. It fills one cache line, so that
// neighbours do not slow each other down, and it holds no pointer, so that the slots
// that are made together lie side by side on lines of their own.
type slot struct {
	// word is what a pick looks at and counts in, in one piece, so that a change of
	// any part is seen. The upper 32 bits number the leases begun, modulo 2^32. Bit 31
	// bars the backend: it is out of rotation, and by the count it is busier than any
	// other. The lower 31 bits are the calls on the books: those in flight, and the
	// penalty for failed ones.
	word atomic.Uint64

	// newest is the start number of the newest lease that has succeeded, where that
	// can matter: see succeeded.
	newest atomic.Uint64

	// released and other are the numbers of leases that have ended by Release, and
	// otherwise than by success. What has begun, is not open and has not ended in one of
	// these ways has succeeded, so that nobody need count successes.
	released, other atomic.Uint64

	// held is what the backend holds beside the calls that begin later, in one piece:
	// math.Float32bits of the requests in the lower 32 bits, and in the upper ones the
	// start number of the last call that they cover. 0: nothing is known but the count
	// (see report.go).
	held atomic.Uint64

	// halves counts how often the number of leases begun has passed a multiple of
	// 2^31. With word it gives the number of leases in 64 bits.
	halves atomic.Uint32

	// also says what the end of a lease does beyond counting down (see also*).
	also atomic.Uint32

	limit   atomic.Int32 // most calls in flight; 0: no limit
	penalty atomic.Int32 // failed calls that stay on the books (see penalty.go)

	slowness atomic.Uint32 // how slow the backend is, as a power of two (see slowness.go)
	sampleAt atomic.Uint32 // the start number from which on a lease is timed
}

// A ledger is the second and third line of a member. Answers write them; picks never do.
type ledger struct {
	late      atomic.Uint64 // successes of leases from before the last change of state
	answered  atomic.Int64  // open leases that have been answered well
	badSignal atomic.Uint64 // values of the user's signal that were out of range
	price     atomic.Int64  // ends of other calls that pay for one failure

	// era is the start number at the last change of state: the outcomes of leases
	// that began up to then count no more.
	era atomic.Uint64

	reports    atomic.Uint64 // reports taken
	badReports atomic.Uint64 // reports refused
	reported   atomic.Uint64 // math.Float64bits of the last report's InFlight
	reportedAt atomic.Int64  // when it came, as time since the pool was made
	reportTime atomic.Int64  // the last report's ServiceTime that was not 0

	sample samples // guarded by beliefs.mu
}

// samples is what the timed calls of one member have shown. Guarded by beliefs.mu.
type samples struct {
	start  uint32        // the start number of the call that was timed last
	queue  float32       // what the backend was supposed to hold then; 0: the call is over
	began  time.Duration // when the call began
	log    float64       // average logarithm of the service time in seconds
	weight float64       // number of samples that it counts for, at the time at
	at     time.Duration // of the last sample; 0: there was none
	goodAt time.Duration // of the last good answer to a timed call; 0: there was none
}

const cacheLine = 64

// newSlots returns a function that gives new slots and ledgers, n or so of each from
// one piece of memory.
func newSlots(n int) func() (*slot, *ledger) {
	var slots []slot
	var ledgers []ledger
	return func() (*slot, *ledger) {
		if len(slots) == 0 {
			slots, ledgers = aligned[slot](max(n, 1)), aligned[ledger](max(n, 1))
		}
		s, l := &slots[0], &ledgers[0]
		slots, ledgers = slots[1:], ledgers[1:]
		return s, l
	}
}

// aligned makes n values that begin on a cache line. The allocator puts most sizes
// there by itself, but does not promise it.
func aligned[V slot | ledger](n int) []V {
	list := make([]V, n)
	if uintptr(unsafe.Pointer(&list[0]))%cacheLine == 0 {
		return list
	}
	list = make([]V, n+1)
	raw := unsafe.Pointer(&list[0])
	shift := cacheLine - uintptr(raw)%cacheLine
	return unsafe.Slice((*V)(unsafe.Add(raw, shift)), n)
}

const (
	oneStart = 1 << 32
	barred   = 1 << 31
)

func starts(word uint64) uint32 { return uint32(word >> 32) }
func booked(word uint64) int    { return int(uint32(word) &^ barred) }
func isBarred(word uint64) bool { return word&barred != 0 }

// begun is the number of leases begun, in 64 bits.
func (s *slot) begun() uint64 {
	halves := uint64(s.halves.Load()) // first: it follows the word and never leads it
	return wide(halves, starts(s.word.Load()))
}

// wide puts the number of half turns and the 32 bits of a start number together. The
// half turns may be one behind: then they do not fit the top bit.
func wide(halves uint64, start uint32) uint64 {
	halves += halves&1 ^ uint64(start>>31)
	return halves>>1<<32 | uint64(start)
}

// full is a lease's start number in 64 bits. It is exact for a lease that is younger
// than 2^32 others of its backend.
func (s *slot) full(start uint32) uint64 {
	now := s.begun()
	return now - uint64(uint32(now)-start)
}

// inFlight is the number of calls that are really open.
func (s *slot) inFlight() int {
	for {
		w := s.word.Load()
		penalty := int(s.penalty.Load())
		if s.word.Load() == w { // no lease began or ended in between
			return max(booked(w)-penalty, 0)
		}
	}
}

// successes is the number of leases that have ended well, ever.
func (s *slot) successes() uint64 {
	for {
		halves, w := uint64(s.halves.Load()), s.word.Load()
		open := uint64(max(booked(w)-int(s.penalty.Load()), 0))
		other := s.other.Load() + s.released.Load()
		if s.word.Load() != w {
			continue
		}
		begun := wide(halves, starts(w)) - 1 // the first has number 2
		if open+other >= begun {
			return 0
		}
		return begun - open - other
	}
}

// countBelow adds one call unless the limit is reached, or the backend is out of rotation
// and the call is no trial. A limit of 0 is none.
func (s *slot) countBelow(trial bool) (start uint32, ok bool) {
	limit := s.limit.Load()
	for {
		w := s.word.Load()
		if isBarred(w) && !trial || limit > 0 && booked(w)-int(s.penalty.Load()) >= int(limit) {
			return 0, false
		}
		if s.word.CompareAndSwap(w, w+oneStart+1) {
			s.turn(w + oneStart)
			return starts(w + oneStart), true
		}
	}
}

// turn notes that the number of leases has passed a multiple of 2^31.
func (s *slot) turn(word uint64) {
	if starts(word)<<1 == 0 {
		s.halves.Add(1)
	}
}

// uncount takes one call off the books and returns what is left of the word.
func (s *slot) uncount() uint64 {
	w := s.word.Add(^uint64(0))
	if uint32(w)|barred == math.MaxUint32 {
		s.word.Add(1)
		panic("evenkeel: a lease was ended twice: it must not be copied")
	}
	return w
}

// bar takes the backend out of rotation, or puts it back, at once for every pick.
func (s *slot) bar(out bool) {
	for {
		w := s.word.Load()
		next := w &^ barred
		if out {
			next |= barred
		}
		if w == next || s.word.CompareAndSwap(w, next) {
			return
		}
	}
}

// succeeded keeps the start number of a lease that has succeeded, for the order of
// successes and failures. A success that ends while nothing else is on the books need
// not be kept: whatever fails later has begun later.
func (s *slot) succeeded(start uint32) {
	n := s.full(start)
	for {
		newest := s.newest.Load()
		if n <= newest || s.newest.CompareAndSwap(newest, n) {
			return
		}
	}
}

// What the end of a lease does beyond counting down, as bits of slot.also.
const (
	alsoAsk   uint32 = 1 << iota // ask Config.Outcome of nil errors too
	alsoJudge                    // the backend is on trial
	alsoServe                    // calls may be waiting for this place
	alsoOrder                    // failures are on record: the order of successes matters
	alsoOld                      // leases from before the last change of state may be open
)
