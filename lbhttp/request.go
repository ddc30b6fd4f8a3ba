package lbhttp

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// This file answers questions about one request or one response by itself.

// idempotent reports whether a request may be carried out twice (RFC 9110, 9.2.2),
// or is marked as such in the way that http.Transport recognises.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	_, a := req.Header["Idempotency-Key"]
	_, b := req.Header["X-Idempotency-Key"]
	return a || b
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// legacyCancel is the outcome of an error while the context has not ended. The
// caller may have given up by Request.Cancel: http.Client closes that channel for
// its Timeout, a moment before the context ends.
func legacyCancel(req *http.Request) evenkeel.Outcome {
	select {
	case <-req.Cancel: //nolint:staticcheck // deprecated, but http.Client uses it
		if d, ok := req.Context().Deadline(); ok && !time.Now().Before(d) {
			return evenkeel.OutcomeDeadline
		}
		return evenkeel.OutcomeNeutral
	default:
		return evenkeel.OutcomeFailure
	}
}

// gaveUp reports whether the caller has ended the request.
func gaveUp(req *http.Request) bool {
	return req.Context().Err() != nil || legacyCancel(req) != evenkeel.OutcomeFailure
}

// invalid reports whether http.Transport refuses a request, so that the error says
// nothing about the backend. HTTP/1 and HTTP/2 differ in what they refuse; the
// stricter one decides. The trailer is left to badTrailer.
func invalid(req *http.Request) bool {
	return (req.Method != "" && !isToken(req.Method)) ||
		(req.Body == nil && req.ContentLength != 0) ||
		badHeader(req.Header) || hasControl(req.URL.RequestURI())
}

// badTrailer reports whether http.Transport refuses a request's trailer. It must be
// asked before the body is read: the caller may write to the trailer meanwhile.
func badTrailer(trailer http.Header) bool {
	for k := range trailer {
		switch http.CanonicalHeaderKey(k) {
		case "Transfer-Encoding", "Trailer", "Content-Length":
			return true
		}
	}
	return badHeader(trailer)
}

func badHeader(h http.Header) bool {
	for k, vv := range h {
		if !isToken(k) || slices.ContainsFunc(vv, hasControl) {
			return true
		}
	}
	return false
}

func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

func hasControl(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f }) >= 0
}

// bodiless reports whether a response can have no body.
func bodiless(method string, resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusNoContent, http.StatusNotModified:
		return true
	}
	return method == http.MethodHead
}

// refusal reads how a response says that its backend is busy, and for how long.
func refusal(resp *http.Response, now time.Time) (busy bool, wait time.Duration) {
	said := resp.Header.Get("Retry-After")
	busy = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable && said != ""
	if !busy {
		return false, 0
	}
	if s, err := strconv.ParseUint(said, 10, 31); err == nil {
		return true, time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(said); err == nil {
		return true, max(at.Sub(now), 0)
	}
	return true, 0
}
