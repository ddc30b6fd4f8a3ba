package sim

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run has measured of the requests that arrived after the
// warm-up. Times are in units of simulated time, from the arrival of a request
// until its answer is back.
type Result struct {
	Requests int64 // that were finished without an error
	Failed   int64 // that a server answered with an error
	Refused  int64 // that were given no server: no backend, or the backlog was full
	GaveUp   int64 // that left the backlog because their Patience had ended
	Stranded int64 // that a server which stands still holds for ever

	// NaN, but for Max, if no request was counted.
	Mean, P50, P99, P999, Max float64

	// Peak is the most requests at one server, waiting or being worked on, right
	// after it took one.
	Peak int
	// Shares is the share of the requests that each server was sent.
	Shares []float64
	// Hits is the share of the requests whose key the server held. See Config.Keys.
	Hits float64
	// Ejections is how often outcomes have ejected each server, from the beginning of
	// the run, warm-up included, in the pools of all dispatchers together.
	Ejections []int
	// Tails[k-1] is the share of servers that held at least k requests, over all
	// probes, for k = 1 to TailDepth. nil without Config.ProbeEvery.
	Tails []float64
	// Queues[i][s] is the number of requests at server s at the time i times
	// Config.SampleEvery.
	Queues [][]int32
	// End is when the last counted request was finished.
	End float64
	// Throughput is the number of requests finished in the time from the end of
	// the warm-up to End, a unit of time.
	Throughput float64
	// InFlight is the sum of all counts of all pools when all was over: 0, or a
	// request was lost or is stranded.
	InFlight int

	hist *hdrhistogram.Histogram
}

// TailDepth is the number of Result.Tails.
const TailDepth = 10

// The histogram keeps times of 1e-6 to 1e9 units with three significant digits.
const (
	histUnit = 1e-6
	histMax  = 1e15
)

// Quantile returns the time that the share q of the requests, from 0 to 1, do
// not exceed, within 0.1 %. It is NaN if no request was counted.
func (r *Result) Quantile(q float64) float64 {
	if r.hist == nil || r.hist.TotalCount() == 0 {
		return math.NaN()
	}
	return float64(r.hist.ValueAtQuantile(q*100)) * histUnit
}

// Within returns the share of the finished requests that took at most t, which is
// rounded to three digits.
func (r *Result) Within(t float64) float64 {
	if r.hist == nil || r.hist.TotalCount() == 0 {
		return math.NaN()
	}
	var n int64
	for _, bar := range r.hist.Distribution() {
		if float64(bar.From)*histUnit <= t {
			n += bar.Count
		}
	}
	return float64(n) / float64(r.hist.TotalCount())
}

// tally collects what becomes a Result.
type tally struct {
	hist                    *hdrhistogram.Histogram
	sum, max, end           float64
	done                    int64
	failed, refused, gaveUp int64
	sent                    []int64
	hits                    int64
	peak                    int
	ejections               []int
	tails                   [TailDepth]int64
	probes                  int64
	queues                  [][]int32
	open                    int64 // counted requests that are not over
	arrived                 int64 // all, those of the warm-up included
}

func newTally(servers int) tally {
	return tally{hist: hdrhistogram.New(1, histMax, 3), sent: make([]int64, servers), ejections: make([]int, servers)}
}

func (t *tally) record(took float64) {
	t.done++
	t.sum += took
	t.max = max(t.max, took)
	_ = t.hist.RecordValue(min(int64(took/histUnit), histMax)) // within range: cannot fail
}

func (t *tally) result(warmup float64) *Result {
	r := &Result{
		Requests: t.done, Failed: t.failed, Refused: t.refused, GaveUp: t.gaveUp, Stranded: t.open,
		Mean: t.sum / float64(t.done), Max: t.max, Peak: t.peak, Queues: t.queues, End: t.end, Ejections: t.ejections,
		Throughput: float64(t.done) / (t.end - warmup), hist: t.hist,
	}
	r.P50, r.P99, r.P999 = r.Quantile(0.5), r.Quantile(0.99), r.Quantile(0.999)
	var sum int64
	for _, n := range t.sent {
		sum += n
	}
	r.Hits = float64(t.hits) / float64(max(sum, 1))
	r.Shares = make([]float64, len(t.sent))
	for i, n := range t.sent {
		r.Shares[i] = float64(n) / float64(max(sum, 1))
	}
	if t.probes > 0 {
		r.Tails = make([]float64, TailDepth)
		for k := range r.Tails {
			r.Tails[k] = float64(t.tails[k]) / float64(t.probes) / float64(len(t.sent))
		}
	}
	return r
}
