package health

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strings"

	"github.com/evenkeel-go/evenkeel"
)

// A Probe says how a backend is examined: an [HTTP], a [TCP] or a [Func].
type Probe[T comparable] interface {
	// prepare checks the settings and returns what is called for each probe, from
	// many goroutines at once, and what to call when none will follow.
	prepare() (run func(ctx context.Context, backend T) error, finish func(), err error)
}

// Func is a probe of your own: nil is passed, any error is failed. It must return
// when its context ends, which is after Config.Timeout, or when the Checker is
// closed or the backend leaves the pool. One that does not keeps its goroutine;
// its backend is then not probed again before it returns, counts as failed once
// every interval, and no other backend is kept waiting. A panic in it is not
// caught.
type Func[T comparable] func(ctx context.Context, backend T) error

func (f Func[T]) prepare() (func(context.Context, T) error, func(), error) {
	if f == nil {
		return nil, nil, fmt.Errorf("%w: the health.Func is nil", evenkeel.ErrNil)
	}
	return f, func() {}, nil
}

// addressOf returns how the address of a backend is found: by the user's function
// or, without one, from a T that is a kind of string or has a String method.
func addressOf[T comparable](own func(T) string, field string) (func(T) string, error) {
	if own != nil {
		return own, nil
	}
	var zero T
	kind := reflect.TypeOf(&zero).Elem()
	if kind.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return func(b T) string { return any(b).(fmt.Stringer).String() }, nil
	}
	if kind.Kind() == reflect.String {
		return func(b T) string { return reflect.ValueOf(b).String() }, nil
	}
	return nil, badConfig(field, "a backend of type %v is no address; set the function that gives it", kind)
}

// parseAddress reads a backend's address: a URL, "host:port", or a host alone.
// The latter two get the given scheme.
func parseAddress(address, scheme string) (*url.URL, error) {
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			// What url.Parse says repeats the address, which may hold a password.
			return nil, fmt.Errorf("the backend's address is not a valid URL: %w", err.(*url.Error).Err)
		}
		if u.Hostname() == "" {
			return nil, fmt.Errorf("the backend's address %q names no host", u.Redacted())
		}
		return u, nil
	}
	if ip, err := netip.ParseAddr(strings.Trim(address, "[]")); err == nil && ip.Is6() {
		return &url.URL{Scheme: scheme, Host: "[" + ip.String() + "]"}, nil
	}
	host := address
	if strings.Contains(address, ":") {
		h, port, err := net.SplitHostPort(address)
		if err != nil || !isPort(port) {
			return nil, fmt.Errorf("the backend's address %q is neither a URL nor host:port", address)
		}
		host = h
	}
	if host == "" || strings.ContainsAny(host, "/?#@ \t\r\n") {
		return nil, fmt.Errorf("the backend's address %q is neither a URL nor host:port", address)
	}
	return &url.URL{Scheme: scheme, Host: address}, nil
}

func isPort(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != "" && len(s) <= 5
}

// hostPort is what to dial for u.
func hostPort(u *url.URL) (string, error) {
	port := u.Port()
	if port == "" {
		switch u.Scheme {
		case "http":
			port = "80"
		case "https":
			port = "443"
		default:
			return "", fmt.Errorf("the backend's address %q names no port", u.Redacted())
		}
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// nameOf is a backend as errors name it: without the password, if it is a URL
// that holds one.
func nameOf(backend any) string {
	name := fmt.Sprint(backend)
	if strings.Contains(name, "@") {
		if u, err := url.Parse(name); err == nil {
			return u.Redacted()
		}
	}
	return name
}
