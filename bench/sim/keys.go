package sim

import (
	"fmt"
	"slices"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Keys says what requests are about, and what servers hold of it. Key number i, from 1 on,
// is asked for in proportion to i to the power of -Zipf.
type Keys struct {
	// Count is the number of different keys, at least 1.
	Count int
	// Zipf is the exponent, 0 or more. 0: all keys are asked for alike.
	Zipf float64
	// Cache is the number of keys that each server holds: those that it was sent last. 0:
	// none.
	Cache int
	// Hit is the share of its work, from 0 to 1, that a request takes whose key the server
	// holds when it gets there.
	Hit float64
}

func (k *Keys) check() error {
	switch {
	case k.Count < 1:
		return bad("Keys.Count", "%d is below 1", k.Count)
	case !finite(k.Zipf) || k.Zipf < 0:
		return bad("Keys.Zipf", "%v is not a finite number of 0 or more", k.Zipf)
	case k.Cache < 0:
		return bad("Keys.Cache", "%d is negative", k.Cache)
	case !(k.Hit >= 0 && k.Hit <= 1):
		return bad("Keys.Hit", "%v is not a share", k.Hit)
	}
	return nil
}

// keyspace is the keys of one run.
type keyspace struct {
	*Keys
	texts  []string
	upTo   []float64 // of all requests, those for this key and the ones before it
	random *Stream
	held   []*simplelru.LRU[int32, struct{}] // by each server
}

func newKeyspace(k *Keys, servers int, random *Stream) (*keyspace, error) {
	s := &keyspace{Keys: k, texts: make([]string, k.Count), upTo: make([]float64, k.Count), random: random}
	sum := 0.0
	for i := range k.Count {
		s.texts[i] = fmt.Sprint("/item/", i+1)
		sum += portableExp(-float64(k.Zipf * portableLog(float64(i+1))))
		s.upTo[i] = sum
	}
	for i := range s.upTo {
		s.upTo[i] /= sum
	}
	if k.Cache == 0 {
		return s, nil
	}
	for range servers {
		lru, err := simplelru.NewLRU[int32, struct{}](k.Cache, nil)
		if err != nil {
			return nil, err
		}
		s.held = append(s.held, lru)
	}
	return s, nil
}

func (s *keyspace) draw() int32 {
	i, _ := slices.BinarySearch(s.upTo, s.random.Unit())
	return int32(min(i, len(s.upTo)-1))
}

// visit is a request getting to a server. It reports whether the server held the key.
func (s *keyspace) visit(server, key int32) bool {
	if s.held == nil {
		return false
	}
	_, hit := s.held[server].Get(key)
	if !hit {
		s.held[server].Add(key, struct{}{})
	}
	return hit
}
