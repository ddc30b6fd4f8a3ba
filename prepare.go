package evenkeel

import "sync/atomic"

// preparations is what policies have prepared for one membership, each under the number
// of its dispatcher. There is one as a rule.
type preparations struct {
	first atomic.Pointer[preparation]
}

type preparation struct {
	of    uint64
	value any
	next  *preparation
}

func (p *preparations) find(of uint64) *preparation {
	for e := p.first.Load(); e != nil; e = e.next {
		if e.of == of {
			return e
		}
	}
	return nil
}

// value returns what was prepared for a dispatcher, nil if nothing was.
func (p *preparations) value(of uint64) any {
	if e := p.find(of); e != nil {
		return e.value
	}
	return nil
}

func (p *preparations) add(of uint64, value any) {
	e := &preparation{of: of, value: value}
	for {
		e.next = p.first.Load()
		if p.first.CompareAndSwap(e.next, e) {
			return
		}
	}
}
