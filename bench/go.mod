module github.com/evenkeel-go/evenkeel/bench

go 1.25.0

require github.com/evenkeel-go/evenkeel v0.0.0

replace github.com/evenkeel-go/evenkeel => ../
