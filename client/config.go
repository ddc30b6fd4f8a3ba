package client

import (
	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
	"github.com/evenkeel-go/evenkeel/lbhttp"
)

// Config is the set-up of a Client's parts. The zero value is the recommended set-up. A
// value out of range is refused with an error that names the field.
type Config struct {
	Pool     evenkeel.Config
	Policy   evenkeel.Policy // nil: p2c.Policy{}
	HTTP     lbhttp.Config
	Discover discover.Config
}
