package lbtest

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAsideSettles(t *testing.T) {
	assert.True(t, startAside(func() {}).settle(), "it returns")

	var mu sync.Mutex
	mu.Lock()
	forMutex := startAside(func() { mu.Lock() })
	assert.False(t, forMutex.settle(), "it waits for a mutex")
	mu.Unlock()
	assert.True(t, waited(forMutex).settle())

	ch := make(chan struct{})
	forChannel := startAside(func() { <-ch })
	assert.False(t, forChannel.settle(), "it waits for a channel")
	close(ch)
	assert.True(t, waited(forChannel).settle())

	var stop atomic.Bool
	spinning := startAside(func() {
		for !stop.Load() {
			runtime.Gosched()
		}
	})
	assert.False(t, spinning.settle(), "it spins")
	stop.Store(true)
	assert.True(t, waited(spinning).settle())
}

func waited(a *aside) *aside {
	<-a.done
	return a
}

func TestAsideKeepsPanic(t *testing.T) {
	a := waited(startAside(func() { panic("the caller's own") }))
	assert.Contains(t, a.panic, "the caller's own")
	assert.Contains(t, a.panic, "TestAsideKeepsPanic", "where it panicked")
	assert.Contains(t, record(t, func(t testing.TB) { (&subject{TB: t}).await(a, "the call") }), "the call panics")
}
