package lbhttp

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// sentCopy is the copy of the caller's request that one attempt sends, and what
// only some attempts need to know of what came of it. A Config.Outcome needs the
// response as it came and the time it took.
type sentCopy struct {
	connTrace
	traced bool // connTrace is in use
	req    http.Request
	url    url.URL

	waited   time.Duration  // for the lease
	begun    time.Duration  // since Transport.made
	toHeader time.Duration  // from begun to the response header
	resp     *http.Response // the one that the caller has
	seen     *http.Response // a copy of resp as it came; nil: there was no header
}

// of makes the copy one of req, to be sent under ctx. to is the backend, nil if the
// URL stays as it is.
func (c *sentCopy) of(ctx context.Context, req *http.Request, to *url.URL) *http.Request {
	out := &c.req
	if *out = *req; ctx != req.Context() {
		*out = *req.WithContext(ctx)
	}
	if to != nil {
		c.url = *req.URL
		address(&c.url, to)
		out.URL = &c.url
		if out.Host == "" {
			out.Host = req.URL.Host
		}
	}
	return out
}

// record keeps what a Config.Outcome needs of a response that came at now. The
// caller may change its response; the copy that is made here stays as it came.
func (c *sentCopy) record(resp *http.Response, req *http.Request, now time.Duration) {
	seen := *resp
	seen.Header, seen.TransferEncoding = resp.Header.Clone(), slices.Clone(resp.TransferEncoding)
	seen.Body, seen.Trailer, seen.Request = http.NoBody, nil, req
	c.toHeader, c.resp, c.seen = now-c.begun, resp, &seen
}

// recordTrailer adds the trailer, which the base sets when the body has been read to
// its end.
func (c *sentCopy) recordTrailer() {
	if c != nil && c.seen != nil {
		c.seen.Trailer = c.resp.Trailer.Clone()
	}
}
