package sim

import (
	"fmt"
	"math"
)

// Arrivals says when requests arrive. It is read only and may be shared between
// runs.
type Arrivals interface {
	// Start begins a run. The function it returns is called for the time of each
	// arrival, in order; ok is false when there are no more.
	Start(s *Stream) func() (t float64, ok bool)
}

// Poisson is independent users: this many arrivals a unit of time.
type Poisson float64

// Start implements Arrivals.
func (p Poisson) Start(s *Stream) func() (float64, bool) {
	t, rate := 0.0, float64(p)
	return func() (float64, bool) {
		t += s.Exp() / rate
		return t, true
	}
}

// Bursty is Poisson traffic that is switched on and off: on and off times are
// exponential with the means On and Off, and nothing arrives while it is off.
// Rate is the mean rate over both, so the rate within a burst is
// Rate (On + Off) / On.
type Bursty struct {
	Rate, On, Off float64
}

// Start implements Arrivals.
func (b Bursty) Start(s *Stream) func() (float64, bool) {
	t, rate := 0.0, b.Rate*(b.On+b.Off)/b.On
	burstEnds := float64(s.Exp() * b.On)
	return func() (float64, bool) {
		for {
			next := t + s.Exp()/rate
			if next <= burstEnds {
				t = next
				return t, true
			}
			t = burstEnds + float64(s.Exp()*b.Off)
			burstEnds = t + float64(s.Exp()*b.On)
		}
	}
}

// Trace is arrivals at recorded times. Make one with NewTrace.
type Trace struct {
	at []float64
}

// NewTrace returns arrivals at these times, counted from the first one and
// divided by unit. The error says where the times go backwards.
func NewTrace(times []float64, unit float64) (*Trace, error) {
	if len(times) < 2 {
		return nil, fmt.Errorf("a trace of %d arrivals is too short", len(times))
	}
	if !(unit > 0) || math.IsInf(unit, 0) {
		return nil, fmt.Errorf("the unit %v is not a positive number", unit)
	}
	tr := &Trace{at: make([]float64, len(times))}
	for i, t := range times {
		switch {
		case math.IsNaN(t) || math.IsInf(t, 0):
			return nil, fmt.Errorf("arrival %d is at %v, which is no time", i+1, t)
		case i > 0 && t < times[i-1]:
			return nil, fmt.Errorf("arrival %d, at %v, is before the one above it, at %v", i+1, t, times[i-1])
		}
		tr.at[i] = (t - times[0]) / unit
	}
	if tr.Length() == 0 {
		return nil, fmt.Errorf("all arrivals are at one time")
	}
	return tr, nil
}

// Length returns the time of the last arrival.
func (tr *Trace) Length() float64 { return tr.at[len(tr.at)-1] }

// Rate returns the mean number of arrivals a unit of time.
func (tr *Trace) Rate() float64 { return float64(len(tr.at)-1) / tr.Length() }

// Start implements Arrivals.
func (tr *Trace) Start(*Stream) func() (float64, bool) {
	i := 0
	return func() (float64, bool) {
		if i == len(tr.at) {
			return 0, false
		}
		i++
		return tr.at[i-1], true
	}
}
