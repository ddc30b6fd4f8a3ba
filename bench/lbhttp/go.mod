module github.com/evenkeel-go/evenkeel/bench/lbhttp

go 1.26.0

require (
	github.com/bufbuild/httplb v0.4.1
	github.com/evenkeel-go/evenkeel v0.0.0
)

require (
	golang.org/x/net v0.38.0 // indirect
	golang.org/x/sync v0.12.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)

replace github.com/evenkeel-go/evenkeel => ../../
