// Command ejection measures ejection by outcome, as evenkeel ships it, on virtual
// time: how long it takes and how many calls it costs until backends that fail
// are out, for 2 to 50 backends of which up to half fail; how often healthy ones
// are taken out; and what ejection costs the hot path.
//
//	go run ./bench/ejection            the tables, in about a minute
//	go run ./bench/ejection -short     small, in a few seconds
//	go run ./bench/ejection -all       a line for every n and k
//
// Every table but the one of the hot path depends on nothing but the seed.
package main
