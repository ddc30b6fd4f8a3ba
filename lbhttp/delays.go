package lbhttp

import (
	"math"
	"sync"
	"time"
)

// delays estimates the 95th percentile of the times to the response header, over the
// last ten to twenty seconds, to within a quarter. The zero value is ready.
type delays struct {
	mu     sync.Mutex
	since  time.Duration // the begin of the newer half
	counts [2][delayBuckets]uint32
	total  [2]uint32
}

const (
	delayWindow  = 10 * time.Second
	delayLeast   = 100 * time.Microsecond // the upper bound of the first bucket
	delaySteps   = 3                      // buckets for each doubling
	delayBuckets = 64                     // the last one has what takes longer than 3 minutes

	// delaySamples is how many times must be known before the percentile is used.
	delaySamples = 50
)

// add records a time d, at now.
func (d *delays) add(now, took time.Duration) {
	i := 0
	if took > delayLeast {
		i = min(int(math.Ceil(delaySteps*math.Log2(float64(took)/float64(delayLeast)))), delayBuckets-1)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roll(now)
	d.counts[1][i]++
	d.total[1]++
}

// p95 returns the percentile, 0 if too few times are known.
func (d *delays) p95(now time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roll(now)
	total := d.total[0] + d.total[1]
	if total < delaySamples {
		return 0
	}
	left := total - total/20 // 95 %, rounded up
	for i := range delayBuckets {
		n := d.counts[0][i] + d.counts[1][i]
		if n >= left {
			return time.Duration(float64(delayLeast) * math.Exp2(float64(i)/delaySteps))
		}
		left -= n
	}
	return 0
}

// roll forgets what is too old. The caller holds d.mu.
func (d *delays) roll(now time.Duration) {
	switch age := now - d.since; {
	case age < delayWindow:
		return
	case age < 2*delayWindow:
		d.counts[0], d.total[0] = d.counts[1], d.total[1]
	default:
		d.counts[0], d.total[0] = [delayBuckets]uint32{}, 0
	}
	d.counts[1], d.total[1], d.since = [delayBuckets]uint32{}, 0, now
}
