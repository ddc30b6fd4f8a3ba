package lbhttp

import (
	"fmt"
	"reflect"

	"github.com/evenkeel-go/evenkeel"
)

// pooled is a balancer that says which pool it chooses from, so that bad backends are
// refused when the Transport is made and not at the first request.
type pooled interface {
	Pool() *evenkeel.Pool[string]
}

var errNoBalancer = fmt.Errorf("%w: the lbhttp.Transport has no balancer; make it with NewTransport", evenkeel.ErrBadConfig)

// isNil reports whether lb is nil or a nil pointer, which would otherwise fail or panic at
// the first request.
func isNil(lb evenkeel.Balancer[string]) bool {
	v := reflect.ValueOf(lb)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// checkMembers parses every member of the balancer's pool, if its pool is known.
func checkMembers(lb evenkeel.Balancer[string]) error {
	p, ok := lb.(pooled)
	if !ok || p.Pool() == nil {
		return nil
	}
	for backend := range p.Pool().All() {
		if _, err := ParseBackend(backend); err != nil {
			return err
		}
	}
	return nil
}
