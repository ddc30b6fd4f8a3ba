package lbhttp_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

// quiet is the log of test servers: what they complain of is what tests do to them.
var quiet = log.New(io.Discard, "", 0)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
