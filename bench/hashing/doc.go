// Package hashing sets package carp beside other ways from a key to a backend, as Go
// libraries implement them: a ring with 160 points a server (ketama's number), a Maglev
// table, and plain rendezvous hashing. It is a module of its own, outside the workspace,
// since only its benchmarks need those libraries.
//
//	cd bench/hashing && GOWORK=off go test -v -run Spread .
//	cd bench/hashing && GOWORK=off go test -run xxx -bench . .
package hashing
