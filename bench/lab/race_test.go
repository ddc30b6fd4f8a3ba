//go:build race

package main

// fewSeeds is the number of runs behind a row that a test can afford.
const fewSeeds = "6"
