// Package promoted has uses through embedding.
package promoted

type base[T any] struct{ size T }
