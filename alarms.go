package evenkeel

import "container/heap"

// next is the number of the first alarm, 0 if there is none.
func (a alarms[T]) next() uint64 {
	if len(a) == 0 {
		return 0
	}
	return a[0].at
}

func (a *alarms[T]) push(at uint64, m *member[T]) { heap.Push((*alarmHeap[T])(a), alarm[T]{at, m}) }

func (a *alarms[T]) pop() alarm[T] { return heap.Pop((*alarmHeap[T])(a)).(alarm[T]) }

// alarmHeap implements heap.Interface.
type alarmHeap[T comparable] []alarm[T]

func (h alarmHeap[T]) Len() int           { return len(h) }
func (h alarmHeap[T]) Less(i, j int) bool { return h[i].at < h[j].at }
func (h alarmHeap[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *alarmHeap[T]) Push(x any)        { *h = append(*h, x.(alarm[T])) }
func (h *alarmHeap[T]) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = alarm[T]{}
	*h = (*h)[:last]
	return x
}
