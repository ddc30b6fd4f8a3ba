// Package methodvalue has uses of methods that are not called.
package methodvalue

type pool[T any] struct{}

var shared pool[int]
