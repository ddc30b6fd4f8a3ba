package lbhttp

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// ParseBackend reads a backend as a [Transport] does: "host:port", "host" or a
// base URL of scheme http or https with a host, an optional port and an optional
// path. A host is a name or an IP address. An IPv6 address stands in brackets and
// may have a zone: "[fe80::1%eth0]:80", or "http://[fe80::1%25eth0]:80" in a URL.
//
// In the result Host is in lower case. Scheme is empty if the backend has none: the
// scheme is then that of each request. Without a port it is the scheme's port. The
// path is put before that of each request. A trailing dot of the host stays: to a
// resolver such a name is another one.
//
// Query, fragment and user are refused, as is any other scheme: "dns:///orders:80"
// names a resolver, not a server. The error matches evenkeel.ErrBadBackend and
// names the backend, without its password, and what to write instead.
func ParseBackend(backend string) (*url.URL, error) {
	u, err := addr.Parse(backend)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", evenkeel.ErrBadBackend, err)
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
