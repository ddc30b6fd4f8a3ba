package lbhttp

import "net/http"

// What requests are about, for policies that send the same key to the same backend. "" is
// no key.

// KeyOfURL returns the path and the query of a request's URL: what a cache knows its
// entries by. The order of the query's parameters counts.
func KeyOfURL(req *http.Request) string { return req.URL.RequestURI() }

// KeyOfHeader returns a function that returns the first value of a header of the request, or
// "" if it has none.
func KeyOfHeader(name string) func(*http.Request) string {
	name = http.CanonicalHeaderKey(name)
	return func(req *http.Request) string {
		if name == "Host" {
			return req.Host // net/http takes it out of the headers
		}
		if values := req.Header[name]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// KeyOfCookie returns a function that returns the value of a cookie of the request, or "" if
// it has none.
func KeyOfCookie(name string) func(*http.Request) string {
	return func(req *http.Request) string {
		cookie, err := req.Cookie(name)
		if err != nil {
			return ""
		}
		return cookie.Value
	}
}
