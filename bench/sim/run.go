package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/evenkeel-go/evenkeel"
)

// Run simulates cfg. The error matches ErrBadConfig, evenkeel.ErrBadConfig or
// ErrBadWeight, is an Action's, or is context.Cause(ctx) if ctx ended the run
// early; the Result is nil then. Runs may go on side by side.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r, err := newRun(cfg)
	if err != nil {
		return nil, err
	}
	err = r.loop(ctx)
	r.dismiss()
	if err != nil {
		return nil, err
	}
	res := r.tally.result(cfg.Warmup)
	for _, p := range r.pools {
		for s := range cfg.Servers {
			res.InFlight += p.InFlight(s)
		}
	}
	return res, nil
}

// breath is the number of events after which a run looks whether it is to stop,
// and lets other goroutines have the processor.
const breath = 1 << 11

// loop is the run: events in order, until nothing more arrives and all that was
// counted is over.
func (r *run) loop(ctx context.Context) error {
	more := r.arrivals != nil
	var arrival float64
	if more {
		arrival, more = r.nextArrival()
	}
	for n := 1; ; n++ {
		if n%breath == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			runtime.Gosched()
		}
		e := r.agenda.next()
		if more && (e == nil || arrival < e.at) {
			r.now = arrival
			if err := r.arrive(-1, int32(r.pickDispatcher())); err != nil {
				return err
			}
			arrival, more = r.nextArrival()
			continue
		}
		if e == nil || (r.open == 0 && !more && (r.cfg.Clients == 0 || r.over(e.at))) {
			return nil
		}
		r.now = e.at
		if err := r.happen(r.agenda.take()); err != nil {
			return err
		}
	}
}

// over reports whether nothing arrives any more at time t.
func (r *run) over(t float64) bool {
	return t > r.cfg.Horizon || (r.cfg.Requests > 0 && r.arrived >= r.cfg.Requests)
}

func (r *run) nextArrival() (float64, bool) {
	t, ok := r.arrivals()
	return t, ok && !r.over(t)
}

func (r *run) pickDispatcher() int {
	if len(r.lbs) == 1 {
		return 0
	}
	return r.dispatcher.Intn(len(r.lbs))
}

// happen does one event.
func (r *run) happen(e event) error {
	switch e.kind() {
	case kindChange:
		if e.b == 1 {
			a := &r.cfg.Actions[e.a]
			if err := a.Do(r.pools); err != nil {
				return fmt.Errorf("the action at %v: %w", a.At, err)
			}
			for d := range r.lines {
				r.handOver(int32(d))
			}
			return nil
		}
		r.change(&r.cfg.Changes[e.a])
	case kindDepart:
		r.depart(e.a, e.b, e.gen)
	case kindAnswer:
		r.finish(e.a)
	case kindReach:
		r.accept(e.a)
	case kindRefresh:
		for i := range r.servers {
			r.board[i] = float64(r.servers[i].jobs)
		}
		if next := float64(float64(e.b+1) * r.cfg.Refresh); !r.over(next) {
			r.agenda.add(kindRefresh, next, 0, e.b+1, 0)
		}
	case kindSample:
		q := make([]int32, len(r.servers))
		for i := range r.servers {
			q[i] = int32(r.servers[i].jobs)
		}
		r.queues = append(r.queues, q)
		if next := float64(float64(e.b+1) * r.cfg.SampleEvery); !r.over(next) {
			r.agenda.add(kindSample, next, 0, e.b+1, 0)
		}
	case kindGiveUp:
		r.giveUp(e.a, e.gen)
	case kindArrive:
		if !r.over(e.at) {
			return r.arrive(e.a, e.a%int32(len(r.lbs)))
		}
	}
	return nil
}

func (r *run) at(i int32) *request { return &r.chunks[i>>chunkBits][i&(chunkSize-1)] }

// newRequest returns the number of a place for a request.
func (r *run) newRequest() int32 {
	if len(r.free) == 0 {
		base := int32(len(r.chunks)) << chunkBits
		r.chunks = append(r.chunks, new([chunkSize]request))
		for i := int32(chunkSize - 1); i >= 0; i-- {
			r.free = append(r.free, base+i)
		}
	}
	i := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	return i
}

// arrive is one request of a client (-1: of an open loop) at a dispatcher.
func (r *run) arrive(client, dispatcher int32) error {
	r.arrived++
	i := r.newRequest()
	q := r.at(i)
	q.number, q.arrived, q.client, q.pool, q.err = r.arrived, r.now, client, dispatcher, nil
	q.work = r.nextWork()
	if q.counted = r.now > r.cfg.Warmup || r.cfg.Warmup == 0; q.counted {
		r.open++
	}
	if every := r.cfg.ProbeEvery; every > 0 && q.counted && r.arrived%int64(every) == 0 {
		r.probe()
	}
	if r.keys != nil {
		q.key = r.keys.draw()
	}
	if err := r.ask(dispatcher); err != nil {
		return err
	}
	if r.limited {
		r.leaseLimited(i, q)
		return nil
	}
	q.lease, q.err = r.leaseFor(context.Background(), q)
	r.leased(i, q)
	return nil
}

// leaseFor takes the request's lease from its dispatcher.
func (r *run) leaseFor(ctx context.Context, q *request) (evenkeel.Lease[int], error) {
	if r.keys == nil {
		return r.lbs[q.pool].Lease(ctx)
	}
	return r.lbs[q.pool].LeaseFor(ctx, evenkeel.Call[int]{Key: r.keys.texts[q.key]})
}

// probe notes how many servers hold how many requests.
func (r *run) probe() {
	for i := range r.servers {
		for k := range min(r.servers[i].jobs, TailDepth) {
			r.tails[k]++
		}
	}
	r.probes++
}

// leased goes on with a request that has its lease, or was refused one.
func (r *run) leased(i int32, q *request) {
	switch {
	case q.err != nil:
		if q.counted {
			if errors.Is(q.err, context.Canceled) {
				r.gaveUp++
			} else {
				r.refused++
			}
		}
		r.leave(i, q, true)
	case r.half > 0:
		r.agenda.add(kindReach, r.now+r.half, i, 0, 0)
	default:
		r.accept(i)
	}
}

// accept is a request reaching its server.
func (r *run) accept(i int32) {
	q := r.at(i)
	n := int32(q.lease.Backend())
	s := &r.servers[n]
	s.jobs++
	q.reached, q.held = r.now, s.jobs
	if q.counted {
		r.sent[n]++
		r.peak = max(r.peak, s.jobs)
	}
	if r.keys != nil && r.keys.visit(n, q.key) {
		q.work = float64(q.work * r.keys.Hit)
		if q.counted {
			r.hits++
		}
	}
	if s.failing > 0 && r.failure.Unit() <= s.failing {
		q.err = errFailed
		q.work = float64(q.work * r.cfg.FailWork)
	}
	if r.drained != nil {
		r.drained[n] = max(r.drained[n], r.now) + q.work/s.speed/float64(len(s.workers))
	}
	if len(s.idle) == 0 {
		s.line.push(i)
		s.queued += q.work
		return
	}
	w := s.idle[len(s.idle)-1]
	s.idle = s.idle[:len(s.idle)-1]
	r.begin(s, n, w, i, q.work)
}

// begin lets a worker begin with a request.
func (r *run) begin(s *server, n, w, i int32, work float64) {
	wk := &s.workers[w]
	wk.request, wk.busy, wk.left, wk.since = i, true, work, r.now
	r.expect(s, n, w)
}

// expect puts the departure of a worker's request on the agenda.
func (r *run) expect(s *server, n, w int32) {
	wk := &s.workers[w]
	wk.gen++
	if s.speed > 0 {
		r.agenda.add(kindDepart, r.now+wk.left/s.speed, n, w, wk.gen)
	}
}

// depart is a worker finishing its request, if the agenda is right about that.
func (r *run) depart(n, w int32, gen uint32) {
	s := &r.servers[n]
	wk := &s.workers[w]
	if gen != wk.gen {
		return // the speed has changed since
	}
	i := wk.request
	s.jobs--
	if r.reports(n) {
		r.at(i).report = r.reportOf(n, r.at(i))
	}
	if s.line.size > 0 {
		next := s.line.pop()
		work := r.at(next).work
		if s.line.size > 0 {
			s.queued -= work
		} else {
			s.queued = 0 // exactly, whatever rounding has left
		}
		r.begin(s, n, w, next, work)
	} else {
		wk.busy = false
		if r.drained != nil && s.jobs == 0 {
			r.drained[n] = r.now // exactly, whatever rounding has left
		}
		s.idle = append(s.idle, w)
	}
	if r.half > 0 {
		r.agenda.add(kindAnswer, r.now+r.half, i, 0, 0)
		return
	}
	r.finish(i)
}

// finish is the answer being back.
func (r *run) finish(i int32) {
	q := r.at(i)
	if r.reports(int32(q.lease.Backend())) {
		q.lease.Report(q.report)
	}
	q.lease.Done(q.err)
	if q.counted {
		r.end = r.now
		if q.err != nil {
			r.failed++
		} else {
			r.record(r.now - q.arrived)
		}
	}
	pool := q.pool
	r.leave(i, q, false)
	if r.limited {
		r.handOver(pool)
	}
}

// leave ends a request and lets its client, if it has one, send the next.
func (r *run) leave(i int32, q *request, refused bool) {
	if q.counted {
		r.open--
	}
	q.gen++
	r.free = append(r.free, i)
	if q.client < 0 {
		return
	}
	pause := 0.0
	switch {
	case r.cfg.Think > 0:
		pause = float64(r.think.Exp() * r.cfg.Think)
	case refused:
		pause = 1 // or it would ask again for ever at the same moment
	}
	r.agenda.add(kindArrive, r.now+pause, q.client, 0, 0)
}

// change puts a server into a new state. What its workers have done so far was
// done at the old speed.
func (r *run) change(c *Change) {
	s := &r.servers[c.Server]
	for w := range s.workers {
		if wk := &s.workers[w]; wk.busy {
			wk.left = max(wk.left-float64((r.now-wk.since)*s.speed), 0)
			wk.since = r.now
		}
	}
	s.speed, s.failing = c.Speed, c.Failing
	if r.drained != nil && s.jobs > 0 {
		r.drained[c.Server] = r.now + s.workLeft(r.now)/s.speed/float64(len(s.workers))
	}
	for w := range s.workers {
		if s.workers[w].busy {
			r.expect(s, int32(c.Server), int32(w))
		}
	}
}

// Rate returns the arrivals a unit of time that use this share of the capacity of
// so many workers of speed 1 by requests of mean work.
func Rate(utilization float64, workers int, work Work) Poisson {
	return Poisson(utilization * float64(workers) / work.Mean())
}
