package lbhttp

import (
	"io"
	"net/http"
)

// hand makes the response the caller's. The attempt ends when the response's body
// ends.
func (a *attempt) hand(resp *http.Response) *http.Response {
	a.sent.settle()
	if tracker := trackerOf(a.caller.Context()); tracker != nil {
		a.tracked = true
		tracker.last.Store(a)
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	switch {
	case !a.tracked && (resp.Body == http.NoBody || bodiless(a.caller.Method, resp)):
		a.recordTrailer()
		a.finish()
		return resp
	case resp.StatusCode == http.StatusSwitchingProtocols:
		a.body = resp.Body
		if rw, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = &upgraded{respBody: (*respBody)(a), rw: rw}
		} else {
			resp.Body = (*respBody)(a)
		}
	default:
		a.body = resp.Body
		resp.Body = (*respBody)(a)
	}
	if goesOn(resp) {
		a.lease.Answered()
	}
	return resp
}

// shortBody is a length of a body whose end is as good as here with its header.
const shortBody = 64 << 10

// goesOn reports whether a response begins well and may take long to end: a stream,
// an upgraded connection, a long body. Then its header is evidence by itself.
func goesOn(resp *http.Response) bool {
	switch code := resp.StatusCode; {
	case code == http.StatusSwitchingProtocols:
		return true
	case code < 200 || code >= 400:
		return false
	}
	return resp.ContentLength < 0 || resp.ContentLength > shortBody
}

// respBody is an attempt in its role as the body of its response.
type respBody attempt

// Read implements io.Reader.
func (b *respBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil {
		b.ended(err)
	}
	return n, err
}

// ended ends the attempt because of an error of Read. When it returns the lease is
// over, whoever ended it.
func (b *respBody) ended(err error) {
	a := (*attempt)(b)
	switch {
	case err == io.EOF:
		a.recordTrailer()
		if !a.tracked {
			a.finish()
		}
	case a.closing.Load(): // the caller's Close is the cause of the error
		a.closed()
	default:
		a.settle(err)
	}
}

// Close implements io.Closer. If the end of the request's context is ending the
// attempt, Close does not wait for that: it may be called by a function of the
// user's that has just heard of this end.
func (b *respBody) Close() error {
	a := (*attempt)(b)
	a.closing.Store(true) // before Close: a Read that Close interrupts looks at it
	err := b.body.Close()
	a.closed()
	return err
}

// upgraded is the body of a 101 response: a stream in both directions. It is in
// flight until it is closed, since one direction may end before the other.
type upgraded struct {
	*respBody
	rw io.ReadWriteCloser
}

// Read implements io.Reader.
func (u *upgraded) Read(p []byte) (int, error) {
	n, err := u.rw.Read(p)
	if err != nil && err != io.EOF {
		u.ended(err)
	}
	return n, err
}

// Write implements io.Writer.
func (u *upgraded) Write(p []byte) (int, error) { return u.rw.Write(p) }

// CloseWrite ends the writing direction, if the base's stream has a CloseWrite.
func (u *upgraded) CloseWrite() error {
	if c, ok := u.rw.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return http.ErrNotSupported
}
