package sim

import (
	"fmt"
	"math"
)

// Work says how much work each request is, as the time it takes one worker of
// speed 1. A Work is read only and may be shared between runs.
type Work interface {
	// Draw returns the work of the next request: a finite number, not negative.
	Draw(s *Stream) float64
	// Mean returns the expected value of Draw.
	Mean() float64
}

// Exponential is work with an exponential distribution and mean 1.
type Exponential struct{}

// Draw implements Work.
func (Exponential) Draw(s *Stream) float64 { return s.Exp() }

// Mean implements Work.
func (Exponential) Mean() float64 { return 1 }

// Constant is work that is the same for every request.
type Constant float64

// Draw implements Work.
func (c Constant) Draw(*Stream) float64 { return float64(c) }

// Mean implements Work.
func (c Constant) Mean() float64 { return float64(c) }

// Lognormal is work with mean 1 whose logarithm is normal with this standard
// deviation: its squared coefficient of variation is exp(sigma²) - 1. It must be
// from 0 to 5.
type Lognormal float64

// Draw implements Work.
func (l Lognormal) Draw(s *Stream) float64 {
	sigma := float64(l)
	return portableExp(float64(sigma*s.Normal()) - float64(sigma*sigma)/2)
}

// Mean implements Work.
func (Lognormal) Mean() float64 { return 1 }

// Pareto is work with mean 1 and the tail of a power law with this exponent,
// which must be above 1 for there to be a mean.
type Pareto float64

// Draw implements Work.
func (p Pareto) Draw(s *Stream) float64 {
	alpha := float64(p)
	return float64((alpha - 1) / alpha * portableExp(math.Min(-portableLog(s.Unit())/alpha, 650)))
}

// Mean implements Work.
func (Pareto) Mean() float64 { return 1 }

// Measured draws from durations that were measured, each as likely as the
// others. Make one with NewMeasured.
type Measured struct {
	values []float64
	mean   float64
}

// NewMeasured returns work that draws from values, divided by unit: with the mean
// of the values as unit the mean work is 1. The error says which value is no
// duration.
func NewMeasured(values []float64, unit float64) (*Measured, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("there is no measured duration")
	}
	if !(unit > 0) || math.IsInf(unit, 0) {
		return nil, fmt.Errorf("the unit %v is not a positive number", unit)
	}
	m := &Measured{values: make([]float64, len(values))}
	for i, v := range values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("measured duration %d is %v, which is no duration", i+1, v)
		}
		m.values[i] = v / unit
		m.mean += m.values[i]
	}
	m.mean /= float64(len(values))
	if m.mean == 0 {
		return nil, fmt.Errorf("all measured durations are 0")
	}
	return m, nil
}

// Draw implements Work.
func (m *Measured) Draw(s *Stream) float64 { return m.values[s.Intn(len(m.values))] }

// Mean implements Work.
func (m *Measured) Mean() float64 { return m.mean }

// Recorded is works in the order in which the requests arrive, as a Trace is their
// times. After the last one it begins again with the first. Make one with
// NewRecorded.
type Recorded struct{ Measured }

// NewRecorded returns works that are values, divided by unit, in this order. The
// error says which value is no duration.
func NewRecorded(values []float64, unit float64) (*Recorded, error) {
	m, err := NewMeasured(values, unit)
	if err != nil {
		return nil, err
	}
	return &Recorded{*m}, nil
}

// inTurn begins a run: it returns what gives the work of each request in turn.
func (r *Recorded) inTurn() func() float64 {
	i := -1
	return func() float64 {
		i = (i + 1) % len(r.values)
		return r.values[i]
	}
}
