// Package generic has uses of methods and fields of instantiated types.
package generic

// Pool is generic.
type Pool[K comparable, V any] struct {
	all  map[K]V
	last K
}
