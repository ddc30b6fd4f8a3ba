// Package three has a cycle of three files, and a file that is no part of it.
package three

// A uses B.
func A(n int) int { return b(n) }
