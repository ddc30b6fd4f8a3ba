// Package lbhttpbench compares lbhttp with the bare http.Transport on one and the
// same loopback server. Its benchmarks measure both in turns, so that what else
// the machine does falls on both alike, and report the ratio of their medians.
package lbhttpbench
