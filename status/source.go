package status

import (
	"fmt"
	"net/url"

	"github.com/evenkeel-go/evenkeel"
)

// A Source is a pool, of whatever type its backends are. Make one with Show.
type Source struct {
	stats   func() evenkeel.PoolStats
	members func() []row
	observe func(func(evenkeel.Event)) (stop func())
	eject   func(name string) (found int, err error)
	restore func(name string) (found int, err error)
}

// Show makes a pool one that a Handler can show. A backend is named as fmt prints it; a
// password in a URL is hidden.
func Show[T comparable](pool *evenkeel.Pool[T]) Source {
	change := func(f func(T) error) func(string) (int, error) {
		return func(name string) (int, error) {
			var found []T
			for b := range pool.All() {
				if nameOf(b) == name {
					found = append(found, b)
				}
			}
			if len(found) != 1 {
				return len(found), nil
			}
			return 1, f(found[0])
		}
	}
	return Source{
		stats:   pool.Stats,
		observe: pool.Observe,
		members: func() (rows []row) {
			for b, s := range pool.All() {
				rows = append(rows, row{Name: nameOf(b), Stats: s})
			}
			return rows
		},
		eject:   change(pool.Eject),
		restore: change(pool.Restore),
	}
}

// row is one backend as it is shown.
type row struct {
	Name  string
	Stats evenkeel.Stats
}

func nameOf(backend any) string {
	name := fmt.Sprint(backend)
	if u, err := url.Parse(name); err == nil && u.User != nil {
		return u.Redacted()
	}
	return name
}
