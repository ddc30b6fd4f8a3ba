package lbhttp

// shortOf returns what this process is short of. Plan 9 does not say.
func shortOf(error) string { return "" }
