package sim

// server is one simulated server: a line, first come, first served, and workers.
// How long a request still takes is not settled when it begins, because the
// speed may change: a worker knows what was left at a moment, and its departure
// is put on the agenda anew when the speed changes.
type server struct {
	speed   float64
	failing float64
	workers []worker
	idle    []int32 // workers that have nothing to do
	jobs    int     // waiting or being worked on
	line    ring    // those that wait
	queued  float64 // their work
	logTime float64 // average logarithm of time at the server by requests held
	served  float64 // how many requests it is made of
}

// worker is one of a server's workers.
type worker struct {
	request int32
	busy    bool
	gen     uint32  // number of the departure that is on the agenda
	left    float64 // work that was left at since
	since   float64
}

func newServer(speed float64, workers int) server {
	s := server{speed: speed, workers: make([]worker, workers), idle: make([]int32, workers)}
	for w := range s.idle {
		s.idle[w] = int32(workers - 1 - w)
	}
	return s
}

// workLeft is the work that the server still has to do.
func (s *server) workLeft(now float64) float64 {
	sum := s.queued
	for i := range s.workers {
		if w := &s.workers[i]; w.busy {
			sum += max(w.left-float64((now-w.since)*s.speed), 0)
		}
	}
	return sum
}

// ring is a queue of request numbers that reuses its space.
type ring struct {
	buf        []int32 // its length is a power of two, or 0
	head, size int
}

func (r *ring) push(v int32) {
	if r.size == len(r.buf) {
		bigger := make([]int32, max(16, 2*len(r.buf)))
		for i := range r.size {
			bigger[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = bigger, 0
	}
	r.buf[(r.head+r.size)&(len(r.buf)-1)] = v
	r.size++
}

func (r *ring) pop() int32 {
	v := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.size--
	return v
}
