package discover_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/discover"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("SERVFAIL")

// registry stands for where the members are known. It answers as it was last set.
type registry struct {
	mu     sync.Mutex
	answer discover.Answer[string]
	err    error
	takes  time.Duration
	asked  []time.Time
}

func newRegistry(backends ...string) *registry {
	return &registry{answer: discover.Backends(backends...)}
}

func (r *registry) Lookup(ctx context.Context) (discover.Answer[string], error) {
	r.mu.Lock()
	r.asked = append(r.asked, time.Now())
	takes := r.takes
	r.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return discover.Answer[string]{}, context.Cause(ctx)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return discover.Answer[string]{}, r.err
	}
	answer := r.answer
	answer.Members = slices.Clone(answer.Members)
	return answer, nil
}

// set changes what the registry does.
func (r *registry) set(f func(*registry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

func (r *registry) say(backends ...string) {
	r.set(func(r *registry) { r.answer, r.err = discover.Backends(backends...), nil })
}

func (r *registry) fail(err error) { r.set(func(r *registry) { r.err = err }) }

// lookups returns when the registry was asked.
func (r *registry) lookups() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// events collects a pool's events.
type events struct {
	mu   sync.Mutex
	list []evenkeel.Event
}

func (e *events) add(one evenkeel.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, one)
}

// news returns the texts of the source's events so far, and forgets them.
func (e *events) news() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var texts []string
	for _, one := range e.list {
		if one.Kind == evenkeel.EventSource {
			texts = append(texts, one.Text)
		}
	}
	e.list = nil
	return texts
}

func newPool(t *testing.T, cfg evenkeel.Config, backends ...string) *evenkeel.Pool[string] {
	t.Helper()
	pool, err := evenkeel.NewPool(cfg, backends...)
	require.NoError(t, err)
	return pool
}

// follow starts a Follower within a bubble, and lets a millisecond pass: a test that goes
// on by whole seconds is then never at the very moment of a lookup.
func follow(t *testing.T, pool *evenkeel.Pool[string], source discover.Source[string], cfg discover.Config) *discover.Follower {
	t.Helper()
	f, err := discover.Follow(t.Context(), pool, source, cfg)
	require.NoError(t, err)
	pass(time.Millisecond)
	return f
}

// pass lets time go by in a bubble.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// members returns the backends of a pool, sorted.
func members(pool *evenkeel.Pool[string]) []string {
	var all []string
	for b := range pool.All() {
		all = append(all, b)
	}
	slices.Sort(all)
	return all
}

// stats returns what a pool knows of a backend.
func stats(pool *evenkeel.Pool[string], backend string) evenkeel.Stats {
	for b, s := range pool.All() {
		if b == backend {
			return s
		}
	}
	return evenkeel.Stats{}
}

// steady is a Config that asks every ten seconds, at known moments.
var steady = discover.Config{Interval: 10 * time.Second, Jitter: -1}
