package main

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A load is threads that do nothing but use their cores.
type load struct {
	alive sync.WaitGroup
	over  atomic.Bool
	procs int // what GOMAXPROCS was
}

// startLoad returns when n threads are busy.
func startLoad(n int) *load {
	l := &load{procs: runtime.GOMAXPROCS(0)}
	runtime.GOMAXPROCS(max(n, 1) + 1) // one for each, and one for the program itself
	var begun sync.WaitGroup
	begun.Add(n)
	for range n {
		l.alive.Go(func() {
			begun.Done()
			for !l.over.Load() {
			}
		})
	}
	begun.Wait()
	return l
}

// stop returns when all threads have ended. A second stop does nothing.
func (l *load) stop() {
	if l.over.Swap(true) {
		return
	}
	l.alive.Wait()
	runtime.GOMAXPROCS(l.procs)
}
