module github.com/evenkeel-go/evenkeel/adapters/dns

go 1.26.0

require (
	github.com/evenkeel-go/evenkeel v0.0.0-00010101000000-000000000000
	github.com/miekg/dns v1.1.73
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace github.com/evenkeel-go/evenkeel => ../..
