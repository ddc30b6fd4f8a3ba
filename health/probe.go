package health

import (
	"context"
	"fmt"
	"net/url"
	"reflect"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// A Probe says how a backend is examined: an [HTTP], a [TCP] or a [Func].
type Probe[T comparable] interface {
	// prepare checks the settings. It returns run, which makes one probe and is
	// called from many goroutines at once, and finish, which is called when no run
	// will follow.
	prepare() (run func(ctx context.Context, backend T) error, finish func(), err error)
}

// Func is a probe of your own: an error says that the probe has failed. A Func is
// called from many goroutines at once. It must return when its context ends, which
// happens after Config.Timeout, when the Checker is closed, or when the backend
// leaves the pool.
//
// A Func that does not return keeps its goroutine. Its backend is not probed again
// before the Func returns, and counts as failed once every interval. No other
// backend waits for it. A panic in a Func is not recovered.
type Func[T comparable] func(ctx context.Context, backend T) error

func (f Func[T]) prepare() (func(context.Context, T) error, func(), error) {
	if f == nil {
		return nil, nil, fmt.Errorf("%w: the health.Func is nil", evenkeel.ErrBadConfig)
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

// parseAddress reads a backend's address. An address without a scheme gets the
// given one.
func parseAddress(address, scheme string) (*url.URL, error) {
	u, err := addr.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", evenkeel.ErrBadBackend, err)
	}
	if u.Scheme == "" {
		u.Scheme = scheme
	}
	return u, nil
}

// nameOf is a backend as errors name it: without the password, if the backend is a
// URL that holds one.
func nameOf(backend any) string { return addr.Redact(fmt.Sprint(backend)) }
