//go:build !race

package main

const fewSeeds = "20"
