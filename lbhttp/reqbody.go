package lbhttp

import (
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
)

// sentBody is the request body that one attempt sends in place of the caller's.
// The caller's body is closed exactly once and is not read after that, whatever
// the base does and whenever. A sentBody records whether the caller's body failed,
// which is no fault of the backend. It keeps an unread body open for a next
// attempt. The zero sentBody has no body; only settle may be called on it.
type sentBody struct {
	inner  io.ReadCloser // the caller's body
	length int64         // declared; 0 or less: unknown
	read   int64         // bytes read so far; used by the reader alone
	state  atomic.Uint32 // a bodyState
	failed atomic.Bool   // the caller's body gave an error or another length than declared
}

// on applies an event. It returns the new state, or bodyRefused, and whether this
// call changed the state.
func (b *sentBody) on(e bodyEvent) (to bodyState, changed bool) {
	for {
		from := b.state.Load()
		to = bodyTable[from][e]
		if to == bodyRefused || to == bodyState(from) {
			return to, false
		}
		if b.state.CompareAndSwap(from, uint32(to)) {
			return to, true
		}
	}
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	if to, _ := b.on(onRead); to == bodyRefused {
		return 0, errClosed
	}
	n, err := b.inner.Read(p)
	b.read += int64(n)
	whole := err == io.EOF && (b.length <= 0 || b.read == b.length)
	if err != nil && !whole && bodyState(b.state.Load()) != bodyClosed {
		b.failed.Store(true)
	}
	return n, err
}

// Close implements io.Closer. It may be called often and from any goroutine.
func (b *sentBody) Close() error {
	if to, changed := b.on(onClose); changed && to == bodyClosed {
		return b.inner.Close()
	}
	return nil
}

// settle records that no attempt follows. A body that the base has closed unread is
// closed now; a body that the base has not closed yet is closed when it does.
func (b *sentBody) settle() {
	if b.inner == nil {
		return
	}
	if to, changed := b.on(onSettle); changed && to == bodyClosed {
		_ = b.inner.Close()
	}
}

// shut closes the caller's body, if there is one: no attempt follows, and the base
// may not read any more.
func (b *sentBody) shut() {
	if b.inner != nil {
		b.settle()
		_ = b.Close()
	}
}

// unread reports whether the next attempt may take the body.
func (b *sentBody) unread() bool {
	return b.inner != nil && bodyTable[b.state.Load()][onPass] != bodyRefused
}

// pass returns the caller's body for the next attempt, if nothing was read of it.
func (b *sentBody) pass() (io.ReadCloser, bool) {
	_, ok := b.on(onPass)
	return b.inner, ok
}

// resentBody is a copy of the body that the base itself asked for by GetBody. Its
// failure is recorded in the first body.
type resentBody struct {
	sentBody
	first *sentBody
}

// Read implements io.Reader.
func (b *resentBody) Read(p []byte) (int, error) {
	n, err := b.sentBody.Read(p)
	if b.failed.Load() {
		b.first.failed.Store(true)
	}
	return n, err
}

// replace puts b in place of the body of out, a copy of the caller's request. The
// copies that the base asks for, in order to send the request once more on another
// connection, are watched too.
func (b *sentBody) replace(out *http.Request) {
	b.inner, b.length = out.Body, out.ContentLength
	out.Body = b
	get := out.GetBody
	if get == nil {
		return
	}
	out.GetBody = func() (io.ReadCloser, error) {
		again, err := get()
		if err != nil {
			b.failed.Store(true)
			return nil, err
		}
		resent := &resentBody{sentBody: sentBody{inner: again, length: b.length}, first: b}
		resent.settle()
		return resent, nil
	}
}

// plain reports whether a body needs no sentBody: it is in memory, so that reading
// it cannot fail and closing it does nothing. http.Transport sends the header and
// such a body in one piece, if it can see what the body is.
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
