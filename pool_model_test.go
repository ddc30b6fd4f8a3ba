package evenkeel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/p2c"
	"github.com/evenkeel-go/evenkeel/random"
	"github.com/evenkeel-go/evenkeel/roundrobin"
	"github.com/evenkeel-go/evenkeel/sqf"
)

// modelBackend is what the model knows of one backend.
type modelBackend struct {
	open    int // leases
	ejected bool
	weight  float64
}

func (b *modelBackend) usable() bool { return !b.ejected && b.weight > 0 }

// poolModel is a pool as its documentation has it, without goroutines, speed, or
// ejection by outcome.
type poolModel struct {
	t     *rapid.T
	pool  *evenkeel.Pool[string]
	lbs   []evenkeel.Balancer[string]
	limit int // Config.MaxInFlight

	members []string // in order
	known   map[string]*modelBackend
	leases  []*modelLease
}

type modelLease struct {
	lease  evenkeel.Lease[string]
	cancel context.CancelFunc
	of     *modelBackend
	name   string
	ended  bool
}

var modelNames = []string{"a", "b", "c", "d", "e"}

func newPoolModel(t *rapid.T) *poolModel {
	m := &poolModel{t: t, known: map[string]*modelBackend{}, limit: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "MaxInFlight")}
	pool, err := evenkeel.NewPool[string](evenkeel.Config{MaxInFlight: m.limit, Ejection: evenkeel.Ejection{Off: true}})
	m.check(err == nil, "NewPool: %v", err)
	m.pool = pool
	three, err := p2c.NewWith(pool, p2c.Config{D: 3, Seed: 1})
	m.check(err == nil, "p2c.NewWith: %v", err)
	two, err := p2c.NewWith(pool, p2c.Config{Seed: 1})
	m.check(err == nil, "p2c.NewWith: %v", err)
	m.lbs = []evenkeel.Balancer[string]{
		two, three, must(sqf.NewWith(pool, sqf.Config{Seed: 1})),
		must(roundrobin.NewWith(pool, roundrobin.Config{Seed: 1})), must(random.NewWith(pool, random.Config{Seed: 1})),
	}
	m.Replace(t)
	return m
}

func (m *poolModel) check(ok bool, format string, args ...any) {
	if !ok {
		m.t.Fatalf(format, args...)
	}
}

// replaced brings the model to a new list of members.
func (m *poolModel) replaced(list []string) {
	m.members = list
	for name, b := range m.known {
		if !slices.Contains(list, name) && b.open == 0 && !b.ejected {
			delete(m.known, name) // if it comes back it is new
		}
	}
}

// join makes a backend known, as a new one or as the one that had left.
func (m *poolModel) join(name string) *modelBackend {
	b := m.known[name]
	if b == nil || (!slices.Contains(m.members, name) && b.open == 0 && !b.ejected) {
		b = &modelBackend{weight: 1}
		m.known[name] = b
	}
	return b
}

func (m *poolModel) drawMembers(t *rapid.T) []string {
	list := rapid.Permutation(modelNames).Draw(t, "order")
	return slices.Clone(list[:rapid.IntRange(0, len(list)).Draw(t, "members")])
}

var modelWeights = []float64{0, 0.3, 1, 1, 2, 10}

func (m *poolModel) Replace(t *rapid.T) {
	list := m.drawMembers(t)
	err := m.pool.Replace(list...)
	m.check(err == nil, "Replace(%q): %v", list, err)
	for _, name := range list {
		m.join(name)
	}
	m.replaced(list)
}

func (m *poolModel) ReplaceMembers(t *rapid.T) {
	var list []evenkeel.Member[string]
	names := m.drawMembers(t)
	for _, name := range names {
		w := rapid.SampledFrom(modelWeights).Draw(t, "weight")
		m.join(name).weight = w
		list = append(list, evenkeel.Member[string]{Backend: name, Weight: w})
	}
	err := m.pool.ReplaceMembers(list...)
	m.check(err == nil, "ReplaceMembers(%v): %v", list, err)
	m.replaced(names)
}

func (m *poolModel) RefusedReplace(t *rapid.T) {
	list := append(m.drawMembers(t), "twice", "twice")
	err := m.pool.Replace(list...)
	m.check(errors.Is(err, evenkeel.ErrDuplicate), "Replace(%q): %v", list, err)
	bad := rapid.SampledFrom([]float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "weight")
	err = m.pool.ReplaceMembers(evenkeel.Member[string]{Backend: "z", Weight: 1}, evenkeel.Member[string]{Backend: "a", Weight: bad})
	m.check(errors.Is(err, evenkeel.ErrBadBackend), "ReplaceMembers with a weight of %v: %v", bad, err)
}

// member draws a member, or one that nobody knows.
func (m *poolModel) member(t *rapid.T) (name string, b *modelBackend) {
	name = rapid.SampledFrom(append([]string{"nobody"}, m.members...)).Draw(t, "member")
	return name, m.known[name]
}

// changed checks the error of a change of one backend.
func (m *poolModel) changed(name string, err error) bool {
	if name == "nobody" {
		m.check(errors.Is(err, evenkeel.ErrUnknownBackend), "a change of a backend that nobody knows: %v", err)
		return false
	}
	m.check(err == nil, "a change of %q: %v", name, err)
	return true
}

func (m *poolModel) SetWeight(t *rapid.T) {
	name, b := m.member(t)
	w := rapid.SampledFrom(modelWeights).Draw(t, "weight")
	if m.changed(name, m.pool.SetWeight(name, w)) {
		b.weight = w
	}
}

func (m *poolModel) Eject(t *rapid.T) {
	name, b := m.member(t)
	if m.changed(name, m.pool.Eject(name)) {
		b.ejected = true
	}
}

func (m *poolModel) Restore(t *rapid.T) {
	name, b := m.member(t)
	if m.changed(name, m.pool.Restore(name)) {
		b.ejected = false
	}
}

// placeFor reports whether a backend has room for one more.
func (m *poolModel) placeFor(b *modelBackend) bool {
	return m.limit == 0 || b.open < max(1, int(float64(m.limit)*b.weight))
}

func (m *poolModel) Lease(t *rapid.T) {
	lb := rapid.SampledFrom(m.lbs).Draw(t, "balancer")
	var usable, roomy []string
	for _, name := range m.members {
		if b := m.known[name]; b.usable() {
			usable = append(usable, name)
			if m.placeFor(b) {
				roomy = append(roomy, name)
			}
		}
	}
	picked, err := lb.Pick()
	m.check((err == nil) == (len(usable) > 0), "Pick with %q usable: %v", usable, err)
	m.check(err != nil || slices.Contains(usable, picked), "Pick with %q usable took %q", usable, picked)

	l := &modelLease{}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.lease, err = lb.Lease(ctx)
	switch {
	case len(usable) == 0:
		var none *evenkeel.NoBackendsError
		m.check(errors.As(err, &none), "Lease with nobody usable: %v", err)
		want := evenkeel.NoBackendsError{Members: len(m.members)}
		for _, name := range m.members {
			if m.known[name].ejected {
				want.EjectedByHand++
			} else {
				want.Drained++
			}
		}
		m.check(*none == want, "Lease with nobody usable: %+v, want %+v", *none, want)
	case len(roomy) == 0:
		m.check(errors.Is(err, evenkeel.ErrOverloaded), "Lease with no room: %v", err)
	default:
		m.check(err == nil, "Lease with room on %q: %v", roomy, err)
		l.name = l.lease.Backend()
		m.check(slices.Contains(roomy, l.name), "Lease with room on %q took %q", roomy, l.name)
		l.of = m.known[l.name]
		l.of.open++
		m.leases = append(m.leases, l)
		return
	}
	cancel()
	m.check(l.lease.Backend() == "", "Lease failed and came with one on %q", l.lease.Backend())
}

func (m *poolModel) LeaseWithDeadContext(t *rapid.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errBroken)
	_, err := rapid.SampledFrom(m.lbs).Draw(t, "balancer").Lease(ctx)
	m.check(errors.Is(err, errBroken), "Lease with a dead context: %v", err)
}

// End ends any lease there ever was, in any way, those that have ended too.
func (m *poolModel) End(t *rapid.T) {
	if len(m.leases) == 0 {
		return
	}
	l := rapid.SampledFrom(m.leases).Draw(t, "lease")
	switch rapid.SampledFrom([]string{"Done", "fail", "cancel", "DoneAs", "Release", "Release"}).Draw(t, "how") {
	case "Done":
		l.lease.Done(nil)
	case "fail":
		l.lease.Done(errBroken)
	case "cancel":
		l.cancel()
		l.lease.Done(context.Canceled)
	case "DoneAs":
		l.lease.DoneAs(evenkeel.Outcome(rapid.IntRange(-3, 5).Draw(t, "outcome")), nil)
	case "Release":
		l.lease.Release()
	}
	m.end(l)
}

func (m *poolModel) end(l *modelLease) {
	l.cancel()
	if !l.ended {
		l.ended = true
		l.of.open--
	}
}

// Check compares everything that can be seen.
func (m *poolModel) Check(*rapid.T) {
	m.check(m.pool.Len() == len(m.members), "Len is %d, want %d", m.pool.Len(), len(m.members))
	i := 0
	for name, s := range m.pool.All() {
		m.check(name == m.members[i], "member %d is %q, want %q", i, name, m.members[i])
		b := m.known[name]
		m.check(s.InFlight == b.open, "%d in flight on %q, want %d", s.InFlight, name, b.open)
		m.check(s.Weight == b.weight, "%q has the weight %v, want %v", name, s.Weight, b.weight)
		m.check(s.Used == b.usable(), "%q is used: %v, want %v", name, s.Used, b.usable())
		m.check((s.State == evenkeel.StateEjectedByHand) == b.ejected, "%q is %v, ejected by hand: %v", name, s.State, b.ejected)
		m.check((s.State == evenkeel.StateDrained) == (!b.ejected && b.weight == 0), "%q is %v with a weight of %v", name, s.State, b.weight)
		i++
	}
	leaving, want := map[string]int{}, map[string]int{}
	for name, s := range m.pool.Leaving() {
		leaving[name] = s.InFlight
	}
	for _, name := range append([]string{"nobody", "twice", "z"}, modelNames...) {
		open := 0
		if b := m.known[name]; b != nil {
			open = b.open
			if open > 0 && !slices.Contains(m.members, name) {
				want[name] = open
			}
		}
		m.check(m.pool.InFlight(name) == open, "InFlight(%q) is %d, want %d", name, m.pool.InFlight(name), open)
	}
	m.check(maps.Equal(leaving, want), "leaving: %v, want %v", leaving, want)
	line := m.pool.Backlog()
	m.check(line.Waiting == 0, "%d calls wait without a backlog", line.Waiting)
}

// F001, F002, F009, F169: whatever is done to a pool, in any order, what it says
// of itself is what a simple model says, counts are never negative, and they are 0
// when all leases have ended.
func TestF169PoolModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newPoolModel(t)
		t.Repeat(rapid.StateMachineActions(m))
		for _, l := range m.leases {
			m.t = t
			l.lease.Release()
			m.end(l)
			m.Check(t)
		}
		for _, b := range m.known {
			m.check(b.open == 0, "the model itself has lost count: %v", fmt.Sprint(b))
		}
	})
}
