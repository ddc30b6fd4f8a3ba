package lbhttp

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"strings"

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

// checkMembers parses every member of the balancer's pool, if its pool is known, and
// finds servers that are spelt in two ways: each spelling would get its own share, and
// a retry would go to the same server again.
func checkMembers(lb evenkeel.Balancer[string]) error {
	p, ok := lb.(pooled)
	if !ok || p.Pool() == nil {
		return nil
	}
	spelt := map[string]string{}
	for backend := range p.Pool().All() {
		u, err := ParseBackend(backend)
		if err != nil {
			return err
		}
		server := spelling(u)
		if other, ok := spelt[server]; ok {
			return fmt.Errorf("%w: %w: %q and %q are the same server", evenkeel.ErrBadBackend, evenkeel.ErrDuplicate, other, backend)
		}
		spelt[server] = backend
	}
	return nil
}

// spelling is the same for two backends that are certainly the same server: what may
// be left out is there.
func spelling(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "//" + u.Hostname() + ":" + port + strings.TrimSuffix(u.EscapedPath(), "/")
}
