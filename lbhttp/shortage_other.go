//go:build !(unix || windows || wasip1 || js)

package lbhttp

// shortOf returns what this process is short of. This system has no such errors.
func shortOf(error) string { return "" }
