package main

import "slices"

// scenarios are all of them, in the order of the table.
func scenarios() []scenario {
	return slices.Concat(sharedFaults(), overload(), hung(), streams(), changes(), tiers(), panics(), busy(), prices())
}
