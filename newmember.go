package evenkeel

import (
	"encoding"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel/internal/draw"
	"github.com/evenkeel-go/evenkeel/internal/window"
)

// lastID numbers the members, memberships and dispatchers of all pools of the process.
var lastID atomic.Uint64

func (p *Pool[T]) newMember(b T, slots func() (*slot, *ledger), now time.Duration) *member[T] {
	s, l := slots()
	m := &member[T]{slot: s, ledger: l, backend: b, pool: p}
	m.identity = identity{id: lastID.Add(1), backend: b}
	m.hash = p.hashOf(m)
	m.weight, m.allowed = 1, 1
	m.tier = p.tierOf(0)
	m.tier.count[classGone]++
	m.ramp.end()
	m.word.Store(oneStart | barred) // not 0: see Load
	m.sampleAt.Store(2)
	m.window = window.New(windowOf(&p.cfg))
	m.window.Reset(now, 0)
	m.eraAt = now
	if p.cfg.Outcome != nil {
		m.also.Or(alsoAsk)
	}
	if p.cfg.MaxInFlight > 0 {
		m.also.Or(alsoServe)
	}
	if p.signal != nil {
		m.signal = p.signal(b)
	}
	p.index[b] = m
	return m
}

// hashOf makes View.Hash.
func (p *Pool[T]) hashOf(m *member[T]) uint64 {
	if p.cfg.Hash != nil {
		return p.cfg.Hash(m.identity.backend)
	}
	switch b := m.identity.backend.(type) {
	case string:
		return draw.Hash(b)
	case encoding.TextMarshaler:
		if text, err := b.MarshalText(); err == nil {
			return draw.Hash(string(text))
		}
	case fmt.Stringer:
		return draw.Hash(b.String())
	}
	switch v := reflect.ValueOf(m.identity.backend); {
	case v.Kind() == reflect.String:
		return draw.Hash(v.String())
	case v.CanInt():
		return draw.Mix(uint64(v.Int()))
	case v.CanUint():
		return draw.Mix(v.Uint())
	}
	return m.id
}
