//go:build !(unix || windows || wasip1 || js)

package evenkeel

// isShortage knows no error of this system by which it says that the process has no more
// of something.
func isShortage(error) bool { return false }
