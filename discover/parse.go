package discover

import (
	"errors"
	"net/url"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// Parse makes a Source from a text:
//
//	dns://orders.internal:8080             the addresses of a name, with a port (DNS)
//	srv://_http._tcp.orders.internal       SRV records (SRV)
//	file:///etc/orders/backends            a file (File)
//	10.0.0.1:8080,10.0.0.2:8080            these backends (Static)
//
// The forms "dns:///orders.internal:8080" and "dns:orders.internal:8080", which other
// libraries use, are read too. Any other source is a value that the program makes, such
// as that of a registry. The error matches evenkeel.ErrBadConfig.
func Parse(target string) (Source[string], error) {
	scheme, rest, _ := strings.Cut(target, ":")
	switch scheme {
	case "dns":
		d := &DNS{Host: bare(rest)}
		if _, _, err := splitHostPort(d.Host); err != nil {
			return nil, badTarget(target, err)
		}
		return d, nil
	case "srv":
		s := &SRV{Name: bare(rest)}
		if err := s.check(); err != nil {
			return nil, err
		}
		return s, nil
	case "file":
		u, err := url.Parse(target)
		if err != nil || u.Host != "" || u.Path == "" {
			return nil, badTarget(target, errors.New(`want three slashes before an absolute path, as in "file:///etc/orders/backends"`))
		}
		return &File{Path: u.Path}, nil
	}
	backends := strings.Split(target, ",")
	for _, b := range backends {
		if _, err := addr.Parse(b); err != nil {
			return nil, badTarget(target, err)
		}
	}
	return Static(backends...), nil
}

// bare is a target without its scheme and the slashes after it.
func bare(rest string) string { return strings.TrimPrefix(strings.TrimPrefix(rest, "//"), "/") }

func badTarget(target string, err error) error {
	return badConfig("Parse", "%q: %v; want dns://name:port, srv://_service._proto.name, file:///path or host:port,host:port", addr.Redact(target), err)
}
