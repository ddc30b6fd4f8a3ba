//go:build !race

package sim_test

const haste, slack = 1, 1
