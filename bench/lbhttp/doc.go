// Package lbhttpbench compares lbhttp with the bare http.Transport and with
// github.com/bufbuild/httplb on one and the same loopback server. Its benchmark lets
// them take turns, so that what else the machine does falls on all alike. The package
// is a module of its own, outside of go.work:
//
//	cd bench/lbhttp && GOWORK=off go test -run '^$' -bench . -benchtime 20000x
package lbhttpbench
