package lbhttp

import (
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
)

// sentBody stands before the caller's request body for one attempt. Whatever the
// base does, and whenever, the caller's body is closed exactly once and not read
// after that. It notes whether reading it failed, which is no fault of a backend,
// and keeps a body of which nothing was read open for a next attempt.
type sentBody struct {
	inner  io.ReadCloser
	length int64 // declared; 0 or less: unknown
	read   int64
	state  atomic.Uint32
}

const (
	bodyRead    uint32 = 1 << iota // something was read, or tried to be
	bodyClosed                     // the base has closed it
	bodySettled                    // there is no next attempt to keep it for
	bodyPassed                     // the next attempt has it
	bodyBroke                      // reading failed by the caller's fault
)

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	for s := b.state.Load(); s&bodyRead == 0 || s&bodyClosed != 0; s = b.state.Load() {
		if s&(bodyClosed|bodyPassed) != 0 {
			return 0, errClosed
		}
		b.state.CompareAndSwap(s, s|bodyRead)
	}
	n, err := b.inner.Read(p)
	b.read += int64(n)
	if err != nil && b.state.Load()&bodyClosed == 0 && (err != io.EOF || (b.length > 0 && b.read != b.length)) {
		b.state.Or(bodyBroke)
	}
	return n, err
}

// Close implements io.Closer. It may be called often and from any goroutine.
func (b *sentBody) Close() error {
	old := b.state.Or(bodyClosed)
	if old&bodyClosed == 0 && old&(bodyRead|bodySettled) != 0 && old&bodyPassed == 0 {
		return b.inner.Close()
	}
	return nil
}

// settle says that no attempt follows: a body that the base closed unread is
// closed now, and one that it has not closed yet when it does so.
func (b *sentBody) settle() {
	if b.inner == nil {
		return
	}
	if old := b.state.Or(bodySettled); old&bodyClosed != 0 && old&(bodyRead|bodySettled|bodyPassed) == 0 {
		_ = b.inner.Close()
	}
}

// pass takes the body away for the next attempt, if nothing was read of it.
func (b *sentBody) pass() (io.ReadCloser, bool) {
	for {
		s := b.state.Load()
		if s&(bodyRead|bodySettled) != 0 {
			return nil, false
		}
		if b.state.CompareAndSwap(s, s|bodyPassed) {
			return b.inner, true
		}
	}
}

// resentBody is a copy that the base itself asked for; what is wrong with it is
// noted with the first.
type resentBody struct {
	sentBody
	first *sentBody
}

// Read implements io.Reader.
func (b *resentBody) Read(p []byte) (int, error) {
	n, err := b.sentBody.Read(p)
	if b.broke() {
		b.first.state.Or(bodyBroke)
	}
	return n, err
}

func (b *sentBody) broke() bool { return b.state.Load()&bodyBroke != 0 }

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// plain reports whether a body needs no sentBody: it is in memory, so that
// reading it cannot fail and closing it does nothing. http.Transport sends the
// header and such a body in one piece, if it can see that it is one.
func plain(body io.Reader, length int64) bool {
	switch reflect.TypeOf(body) {
	case nopCloser, nopCloserWriterTo:
	default:
		return false
	}
	switch r := reflect.ValueOf(body).Field(0).Interface().(type) {
	case *bytes.Reader:
		return int64(r.Len()) == length
	case *bytes.Buffer:
		return int64(r.Len()) == length
	case *strings.Reader:
		return int64(r.Len()) == length
	}
	return false
}

var (
	nopCloser         = reflect.TypeOf(io.NopCloser(nil))
	nopCloserWriterTo = reflect.TypeOf(io.NopCloser(struct {
		io.Reader
		io.WriterTo
	}{}))
)
