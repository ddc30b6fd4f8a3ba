// Package bench holds the benchmarks of what a pick and a lease cost, and of what
// a slow backend costs under each policy:
//
//	go test -bench . ./bench                     all of them, some five minutes
//	go test -bench Lease -cpu 1,2 ./bench        the hot path
//	go test -bench SlowBackend ./bench           in real time, some ten seconds
//
// The hot path is compared with a floor that is measured right beside it, on the
// same number of backends and goroutines: x-floor is the ratio of the two, and is
// worth more than the nanoseconds, which depend on the machine and its neighbours.
package bench
