package lbhttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// connTrace follows what http.Transport does within one attempt. An http.Transport
// may try a request several times by itself. What was sent is judged for the last of
// these tries, since the earlier ones sent nothing, or were refused by a server that
// says that it did not act on them, or belong to a request that is idempotent.
type connTrace struct {
	hooks     httptrace.ClientTrace
	connected atomic.Bool  // the last try has got a connection
	wrote     atomic.Bool  // the last try has written its header
	refused   atomic.Bool  // the server has refused the stream of an earlier try
	got       atomic.Int64 // when the last try got its connection, by clock

	// What follows is used on the goroutine of the base's RoundTrip alone.
	conn  net.Conn                // of the last try
	plain bool                    // without TLS HTTP/2 is spoken
	stop  context.CancelCauseFunc // ends the attempt; nil: the base may try as often as it likes
	clock func() time.Duration    // nil: nobody asks for times
}

// errRefused is the error of an attempt whose stream the server has refused: by
// RST_STREAM with REFUSED_STREAM, or by a GOAWAY that leaves the stream out.
var errRefused = errors.New("the server refused the HTTP/2 stream")

// trace returns a context that calls the hooks.
func (c *connTrace) trace(ctx context.Context) context.Context {
	c.hooks = httptrace.ClientTrace{GetConn: c.getConn, GotConn: c.gotConn, WroteHeaders: c.wroteHeaders}
	return httptrace.WithClientTrace(ctx, &c.hooks)
}

// getConn is called at the begin of each try.
func (c *connTrace) getConn(string) {
	wrote := c.wrote.Swap(false)
	c.connected.Store(false)
	if wrote && c.stop != nil && c.http2() {
		// http.Transport would go on with the same server, up to seven times. The context
		// is looked at before anything is written, so this try sends nothing.
		c.refused.Store(true)
		c.stop(errRefused)
	}
}

func (c *connTrace) gotConn(info httptrace.GotConnInfo) {
	c.conn = info.Conn
	c.connected.Store(true)
	if c.clock != nil {
		c.got.Store(int64(c.clock()))
	}
}

func (c *connTrace) wroteHeaders() { c.wrote.Store(true) }

// http2 reports whether the last try went over HTTP/2.
func (c *connTrace) http2() bool {
	if secure, ok := c.conn.(*tls.Conn); ok {
		return secure.ConnectionState().NegotiatedProtocol == "h2"
	}
	return c.plain
}
