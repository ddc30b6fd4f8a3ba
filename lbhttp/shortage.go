//go:build unix || windows || wasip1 || js

package lbhttp

import (
	"errors"
	"syscall"
)

// shortages are the errors by which a system says that this process, or the whole
// machine, has run out of something. They say nothing of the backend.
var shortages = map[syscall.Errno]string{
	syscall.EMFILE:        "file descriptors",
	syscall.ENFILE:        "file descriptors of the system",
	syscall.ENOBUFS:       "network buffers",
	syscall.ENOMEM:        "memory",
	syscall.EADDRNOTAVAIL: "local ports",
}

// shortOf returns what this process is short of, "" if err says no such thing.
func shortOf(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return shortages[no]
	}
	return ""
}
