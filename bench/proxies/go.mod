module github.com/evenkeel-go/evenkeel/bench/proxies

go 1.26.0

require (
	github.com/evenkeel-go/evenkeel v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	golang.org/x/term v0.48.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/evenkeel-go/evenkeel => ../../
