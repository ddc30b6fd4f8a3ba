module github.com/evenkeel-go/evenkeel/tools

go 1.26.0
