module github.com/evenkeel-go/evenkeel/bench/connect

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	github.com/evenkeel-go/evenkeel v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	google.golang.org/protobuf v1.36.11
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/evenkeel-go/evenkeel => ../../
