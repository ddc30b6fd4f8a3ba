package health_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/health"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errRefused = errors.New("connection refused")

// fleet stands for servers that are probed by a function.
type fleet struct {
	mu     sync.Mutex
	fails  map[string]error
	probes map[string]int
	at     map[string][]time.Time
	now    map[string]int // under way
	most   int            // under way at once, over all
	most1  int            // under way at once, for one
	takes  time.Duration
}

func newFleet() *fleet {
	return &fleet{fails: map[string]error{}, probes: map[string]int{}, at: map[string][]time.Time{}, now: map[string]int{}}
}

func (f *fleet) set(backend string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails[backend] = err
}

func (f *fleet) probed(backend string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.probes[backend]
}

// busy returns the probes under way for a backend, and the most there ever were
// at once, over all and for one.
func (f *fleet) busy(backend string) (now, most, most1 int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now[backend], f.most, f.most1
}

func (f *fleet) probe(ctx context.Context, backend string) error {
	f.mu.Lock()
	f.probes[backend]++
	f.at[backend] = append(f.at[backend], time.Now())
	f.now[backend]++
	all := 0
	for _, n := range f.now {
		all += n
	}
	f.most, f.most1 = max(f.most, all), max(f.most1, f.now[backend])
	takes := f.takes
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now[backend]--
		f.mu.Unlock()
	}()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fails[backend]
}

func newPool(t *testing.T, cfg evenkeel.Config, backends ...string) *evenkeel.Pool[string] {
	t.Helper()
	pool, err := evenkeel.NewPool(cfg, backends...)
	require.NoError(t, err)
	return pool
}

// start starts a Checker within a bubble and lets a millisecond pass: a test that
// goes on by whole seconds is then never at the very moment of a probe.
func start(t *testing.T, pool *evenkeel.Pool[string], probe health.Func[string], cfg health.Config) *health.Checker {
	t.Helper()
	checker, err := health.Start(pool, probe, cfg)
	require.NoError(t, err)
	time.Sleep(time.Millisecond)
	synctest.Wait()
	return checker
}

func stats(pool *evenkeel.Pool[string], backend string) evenkeel.Stats {
	for b, s := range pool.All() {
		if b == backend {
			return s
		}
	}
	return evenkeel.Stats{}
}

func state(pool *evenkeel.Pool[string], backend string) evenkeel.State {
	return stats(pool, backend).State
}

// results collects what OnResult is told.
type results struct {
	mu   sync.Mutex
	list []health.Result
}

func (r *results) add(one health.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, one)
}

func (r *results) of(backend string) []health.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []health.Result
	for _, one := range r.list {
		if one.Backend == backend {
			list = append(list, one)
		}
	}
	return list
}

// steady is a Config that makes one probe a second at known moments.
var steady = health.Config{Interval: time.Second, Jitter: -1}
