// Package repo finds the repository that a tool works on.
package repo

import (
	"errors"
	"os"
	"path/filepath"
)

// Root returns the directory of the repository: the nearest one that holds a
// go.work, from the working directory upward.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("there is no go.work here or above: run this within the repository")
		}
		dir = parent
	}
}
