package discover

import (
	"errors"
	"fmt"

	"github.com/evenkeel-go/evenkeel"
)

var (
	// ErrNoAnswer is the error of Follow when no lookup has brought members in time. What
	// Follow returns also wraps why the last lookup did not.
	ErrNoAnswer = errors.New("discover: no answer in time")

	// ErrEmpty says that an answer holds no member that could get a call: none at all, or only
	// ones of weight 0.
	ErrEmpty = errors.New("discover: the answer is empty")

	// ErrShrunk says that an answer leaves out more members than Config.MaxShrink allows.
	ErrShrunk = errors.New("discover: the answer leaves out too many members")
)

func badConfig(field, format string, args ...any) error {
	return fmt.Errorf("%w: discover.%s: %s", evenkeel.ErrBadConfig, field, fmt.Sprintf(format, args...))
}
