//go:build race

package sim_test

// haste: the race detector makes runs ten times slower, so the theory is tested
// with a quarter of the seeds and twice the margin.
const haste, slack = 4, 2
