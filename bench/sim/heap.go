package sim

// kind says what happens at an event. Of events at one moment the lower kind
// comes first: what ends is over before what begins looks at it.
type kind uint8

const (
	kindChange  kind = iota // a server's state changes, or an action is due
	kindDepart              // a worker has finished a request
	kindAnswer              // the answer has reached the dispatcher
	kindReach               // a request has reached its server
	kindRefresh             // the board is read afresh
	kindSample              // the queues are noted
	kindGiveUp              // a request has waited in the backlog as long as it will
	kindArrive              // a client sends its next request
)

// event is one entry of the queue of what is to come.
type event struct {
	at   float64
	rank uint64 // kind, then order of creation: settles ties
	a, b int32  // what it is about, by kind
	gen  uint32 // kindDepart, kindGiveUp: void if this is not the current one any more
}

func (e *event) kind() kind { return kind(e.rank >> 56) }

func (e *event) before(f *event) bool {
	return e.at < f.at || (e.at == f.at && e.rank < f.rank)
}

// agenda is a binary heap of events. Most events lead to another one at once (a
// worker that finishes begins the next request), so the place of the event that
// was taken stays open until it is filled or the next one is wanted: filling it
// costs one pass through the heap, not two.
type agenda struct {
	events []event
	open   bool // events[0] has been taken
	count  uint64
}

func (g *agenda) add(k kind, at float64, a, b int32, gen uint32) {
	g.count++
	e := event{at: at, rank: uint64(k)<<56 | g.count, a: a, b: b, gen: gen}
	if g.open {
		g.open = false
		g.down(e)
		return
	}
	g.events = append(g.events, e)
	h := g.events
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// down puts e at the root and lets it sink.
func (g *agenda) down(e event) {
	h := g.events
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(&h[c]) {
			c++
		}
		if !h[c].before(&e) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = e
}

func (g *agenda) close() {
	if !g.open {
		return
	}
	g.open = false
	last := len(g.events) - 1
	e := g.events[last]
	g.events = g.events[:last]
	if last > 0 {
		g.down(e)
	}
}

// next returns the earliest event, nil if there is none. It is valid until the
// agenda changes.
func (g *agenda) next() *event {
	g.close()
	if len(g.events) == 0 {
		return nil
	}
	return &g.events[0]
}

// take removes the event that next returned.
func (g *agenda) take() event {
	g.open = true
	return g.events[0]
}
