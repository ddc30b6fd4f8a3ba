package main

import "slices"

// Packages that should notice, under short names.
var (
	core        = []string{"."}
	conformance = []string{"./sqf"} // it runs lbtest, as every policy does
	inHTTP      = []string{"./lbhttp"}
	inHealth    = []string{"./health"}
	inSim       = []string{"./bench/sim"}
)

// bugs are planted in this order. To add one, give it a name that says what is
// wrong, the file, the shortest piece of it that occurs once and says what it does,
// what stands there instead, and the packages whose tests should notice. Every new
// rule brings its bug.
var bugs = slices.Concat(
	policyBugs, // draws, policies, what a policy sees
	leaseBugs,  // one call: counts, loads, begin and end
	memberBugs, // who is a member
	ejectBugs,  // ejection by outcome and by health checks, slow start, penalties
	changeBugs, // how a change reaches picks and observers
	queueBugs,  // the backlog
	httpBugs,
	healthBugs,
	simBugs,
	innerBugs,
	carpBugs, // hashing, and subsets
)
