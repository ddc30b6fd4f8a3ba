package lbhttp

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel"
)

// ParseBackend reads a backend as a [Transport] does: "host:port", "host" or a
// base URL of scheme http or https with a host, an optional port and an optional
// path. A host is a name or an IP address; an IPv6 address stands in brackets.
//
// In the result Host is in lower case, and Scheme is empty if the backend has
// none: then it is that of each request. Without a port it is the scheme's. A
// path is put before that of each request. A trailing dot of the host is kept: to
// a resolver such a name is another one. Query, fragment and user are refused, as
// is any other scheme: "dns:///orders:80" names a resolver, not a server. The
// error names the backend and matches evenkeel.ErrBadBackend.
func ParseBackend(backend string) (*url.URL, error) {
	bad := func(why string) error {
		return fmt.Errorf("%w: %q: %s; want host:port or http(s)://host:port/path", evenkeel.ErrBadBackend, backend, why)
	}
	text := backend
	hasScheme := strings.Contains(backend, "://")
	if !hasScheme {
		text = "//" + backend
	}
	u, err := url.Parse(text)
	if err != nil {
		if parse := (*url.Error)(nil); errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, bad(err.Error())
	}
	switch {
	case hasScheme && u.Scheme != "http" && u.Scheme != "https":
		return nil, bad(fmt.Sprintf("the scheme %q is neither http nor https", u.Scheme))
	case u.Hostname() == "":
		return nil, bad("there is no host")
	case u.User != nil:
		return nil, bad("it holds a user; put credentials into the request")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, bad("it holds a query or a fragment")
	case !hasScheme && u.Path != "":
		return nil, bad("it has a path but no scheme")
	case strings.Contains(u.Hostname(), ":") != strings.HasPrefix(u.Host, "["):
		return nil, bad("an IPv6 address, and nothing else, stands in brackets")
	case strings.HasSuffix(u.Host, ":"):
		return nil, bad("the port is missing after the colon")
	case strings.ContainsAny(u.Hostname(), " \t/\\@?#<>\",;") || strings.Trim(u.Hostname(), ".") == "":
		return nil, bad("that is no host name")
	}
	host := strings.ToLower(u.Hostname())
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, bad("the port is not within 1 to 65535")
		}
		u.Host = net.JoinHostPort(host, p)
	} else if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	} else {
		u.Host = host
	}
	return u, nil
}

// address writes where u, a copy of a request's URL, goes if to is its backend.
func address(u, to *url.URL) {
	u.Host = to.Host
	if to.Scheme != "" {
		u.Scheme = to.Scheme
	}
	if to.Path == "" || to.Path == "/" || u.Opaque != "" || u.Path == "*" {
		return
	}
	// As httputil.ReverseProxy joins paths: one slash between them, and no
	// cleaning, which would change what the caller asked for.
	path, raw := join(to.Path, u.Path), ""
	if to.RawPath != "" || u.RawPath != "" {
		raw = join(to.EscapedPath(), u.EscapedPath())
	}
	u.Path, u.RawPath = path, raw
}

func join(a, b string) string {
	switch {
	case b == "":
		return a
	case strings.HasSuffix(a, "/") && strings.HasPrefix(b, "/"):
		return a + b[1:]
	case !strings.HasSuffix(a, "/") && !strings.HasPrefix(b, "/"):
		return a + "/" + b
	}
	return a + b
}
