//go:build unix || windows || wasip1 || js

package evenkeel

import (
	"errors"
	"slices"
	"syscall"
)

// shortages are the errors by which a system says that this process, or this machine, has
// no more of something.
var shortages = []error{
	syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL,
}

func isShortage(err error) bool {
	return slices.ContainsFunc(shortages, func(s error) bool { return errors.Is(err, s) })
}
