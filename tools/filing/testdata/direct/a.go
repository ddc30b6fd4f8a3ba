// Package direct has two files that use each other.
package direct

// Pool is what b.go has a function for.
type Pool struct{ size int }

// Grow calls a function of b.go.
func (p *Pool) Grow() {
	p.size = next(p)
	p.size += step
}
