package window_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/evenkeel-go/evenkeel/internal/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	w := window.New(10 * time.Second)
	var calls uint64 // counted without a look at the clock
	calls += 400
	w.Add(20 * time.Second) // one that failed
	w.Roll(20*time.Second, calls)
	fmt.Println(w.Sum(20 * time.Second))
	fmt.Println(w.Sum(25 * time.Second))
	// Output:
	// 180 1
	// 80 1
}

func sum(w *window.Window, now time.Duration) [2]float64 {
	counted, added := w.Sum(now)
	return [2]float64{counted, added}
}

// What the counter has grown by is spread over the time since it was last read,
// and what is older than the window does not count.
func TestCounterIsSpreadOverTime(t *testing.T) {
	w := window.New(10 * time.Second)
	w.Reset(0, 100)
	w.Roll(time.Second, 150)
	assert.Equal(t, [2]float64{50, 0}, sum(&w, time.Second))
	w.Add(time.Second)
	assert.Equal(t, [2]float64{50, 1}, sum(&w, time.Second))
	w.Roll(21*time.Second, 150+200) // 10 a second
	assert.Equal(t, [2]float64{90, 0}, sum(&w, 21*time.Second), "the nine whole buckets before this one, which is empty yet")
	w.Roll(21500*time.Millisecond, 150+200+8)
	assert.Equal(t, [2]float64{98, 0}, sum(&w, 21500*time.Millisecond))
	assert.Equal(t, [2]float64{88, 0}, sum(&w, 22*time.Second), "the oldest second has gone")
	assert.Equal(t, [2]float64{0, 0}, sum(&w, 32*time.Second))
}

func TestEventsCountAtTheirTime(t *testing.T) {
	w := window.New(10 * time.Second)
	for i := range 30 {
		w.Add(time.Duration(i) * time.Second)
		assert.Equal(t, [2]float64{0, float64(min(i+1, 10))}, sum(&w, time.Duration(i)*time.Second))
	}
	w.Add(29 * time.Second)
	assert.Equal(t, [2]float64{0, 2}, sum(&w, 38*time.Second))
}

func TestReset(t *testing.T) {
	w := window.New(10 * time.Second)
	w.Roll(time.Second, 50)
	w.Add(time.Second)
	w.Reset(2*time.Second, 70)
	assert.Zero(t, sum(&w, 2*time.Second), "nor what the counter had grown by unread")
	w.Roll(3*time.Second, 75)
	assert.Equal(t, [2]float64{5, 0}, sum(&w, 3*time.Second))
}

func TestCounterMayWrap(t *testing.T) {
	w := window.New(10 * time.Second)
	w.Reset(0, math.MaxUint64-9)
	w.Roll(0, 20)
	assert.Equal(t, [2]float64{30, 0}, sum(&w, 0))
}

func TestUndoTakesBackTheLatest(t *testing.T) {
	w := window.New(10 * time.Second)
	w.Undo()
	assert.Zero(t, sum(&w, 0), "there was none")
	w.Add(9 * time.Second)
	w.Add(10 * time.Second) // in the bucket before that in memory
	w.Roll(12*time.Second, 0)
	w.Undo()
	assert.Equal(t, [2]float64{0, 1}, sum(&w, 18*time.Second))
	assert.Zero(t, sum(&w, 19*time.Second), "the earlier one was left, and is too old now")
	w.Undo()
	w.Undo()
	w.Undo()
	assert.Zero(t, sum(&w, 12*time.Second))
}

// A clock that goes back changes nothing: what comes then counts as of the latest
// time, and drives out nothing.
func TestClockThatGoesBack(t *testing.T) {
	w := window.New(10 * time.Second)
	w.Roll(20*time.Second, 100)
	w.Add(20 * time.Second)
	before := sum(&w, 20*time.Second)
	assert.Equal(t, before, sum(&w, 10*time.Second))
	w.Roll(10*time.Second, 107)
	w.Add(10 * time.Second)
	w.Add(-time.Hour)
	assert.Equal(t, [2]float64{before[0] + 7, before[1] + 2}, sum(&w, 20*time.Second))
	assert.Equal(t, [2]float64{7, 3}, sum(&w, 29*time.Second))
	w.Reset(0, 107)
	w.Roll(25*time.Second, 207) // spread over 20 to 25 s, not 0 to 25 s
	assert.Equal(t, [2]float64{100, 0}, sum(&w, 25*time.Second))
}

// The shortest windows divide time into nanoseconds, and the longest never forget.
func TestLengths(t *testing.T) {
	for _, length := range []time.Duration{math.MinInt64, 0, 1, 9, 10} {
		w := window.New(length)
		w.Add(100)
		assert.Equal(t, [2]float64{0, 1}, sum(&w, 109), length)
		assert.Zero(t, sum(&w, 110), length)
	}
	w := window.New(math.MaxInt64)
	w.Roll(math.MaxInt64/2, 1000)
	w.Add(math.MaxInt64 / 2)
	assert.Equal(t, [2]float64{1000, 1}, sum(&w, math.MaxInt64/100*99))
}

// Against a model that remembers every stretch and every event.
func TestWindowAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type stretch struct {
			from, to time.Duration
			grown    float64
		}
		var (
			length   = time.Duration(rapid.IntRange(1, 1000).Draw(t, "width") * window.Buckets)
			width    = length / window.Buckets
			w        = window.New(length)
			now      time.Duration
			rolled   time.Duration
			counter  uint64
			grown    []stretch
			events   []time.Duration
			begin    = func(at time.Duration) time.Duration { return at / width * width }
			expected = func() (counted, added float64) {
				since := begin(now) - (window.Buckets-1)*width
				for _, s := range grown {
					switch {
					case s.from >= since:
						counted += s.grown
					case s.to > since:
						counted += s.grown * float64(s.to-since) / float64(s.to-s.from)
					}
				}
				for _, at := range events {
					if at >= since {
						added++
					}
				}
				return counted, added
			}
		)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 30).Draw(t, "passes")) * width / 7
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				counter += 1000
				w.Reset(now, counter)
				rolled, grown, events = now, nil, nil
			case 1, 2, 3, 4:
				n := rapid.Uint64Range(0, 1000).Draw(t, "grows")
				counter += n
				w.Roll(now, counter)
				grown = append(grown, stretch{rolled, now, float64(n)})
				rolled = now
			case 5:
				w.Undo()
				if _, added := expected(); added > 0 {
					events = events[:len(events)-1]
				}
			default:
				w.Add(now)
				events = append(events, now)
			}
			counted, added := w.Sum(now)
			wantCounted, wantAdded := expected()
			require.InDelta(t, wantCounted, counted, 0.5+1e-6)
			require.Equal(t, wantAdded, added)
		}
	})
}

// SumSince leaves out the bucket that the moment falls into, and all before it.
func TestSumSince(t *testing.T) {
	w := window.New(10 * time.Second)
	for i := range 5 {
		w.Add(time.Duration(i)*time.Second + time.Second/2)
	}
	for since, want := range map[time.Duration]float64{0: 5, time.Second: 3, 2*time.Second + 1: 2, time.Minute: 0} {
		_, added := w.SumSince(5*time.Second, since)
		assert.InDelta(t, want, added, 0, "since %v", since)
	}
}
