package discover

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// File is a file that lists backends. It is read once a second (or as seldom as
// Config.MinInterval says), whatever became of it meanwhile: written anew, replaced by a
// rename, or reached by way of a symbolic link that was swapped, as Kubernetes does with
// a ConfigMap. Its fields must not be changed after its first use.
//
// The file has one backend a line, and behind it, if wanted, its weight and its tier.
// What follows a # is a comment:
//
//	10.0.0.1:8080
//	10.0.0.2:8080 weight=2        # twice the calls
//	10.0.1.1:8080 weight=1 tier=1 # stands by
//
// Or it is a JSON array, of texts such as "10.0.0.1:8080" or of objects such as
// {"backend": "10.0.0.1:8080", "weight": 2, "tier": 1}. The weight is 1 if it is left
// out; 0 drains the backend. A line or an element that is wrong is left out and reported.
// A backend is "host:port", "host" or a URL, as package lbhttp has it.
type File struct {
	Path string

	mu   sync.Mutex
	last []byte // what the file held when it was last believed
}

const (
	readEvery   = time.Second
	settleAfter = 50 * time.Millisecond
)

// Lookup implements Source.
func (f *File) Lookup(ctx context.Context) (Answer[string], error) {
	if f.Path == "" {
		return Answer[string]{}, badConfig("File.Path", "it is empty")
	}
	text, err := f.read(ctx)
	if err != nil {
		return Answer[string]{TTL: readEvery}, err
	}
	answer, err := parseList(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Path, err)
	}
	answer.TTL = readEvery
	return answer, err
}

// read returns what the file holds. A file that has changed is read until it is the same
// twice in a row: somebody may be writing it at this moment.
func (f *File) read(ctx context.Context) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := os.ReadFile(f.Path)
	for before := f.last; err == nil && (before == nil || !bytes.Equal(text, before)); {
		before = text
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(settleAfter):
		}
		text, err = os.ReadFile(f.Path)
	}
	if err == nil {
		f.last = text
	}
	return text, err
}
