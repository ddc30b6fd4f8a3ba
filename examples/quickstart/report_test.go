package main

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

// times returns n times: the last few of them slow.
func times(n int, usual time.Duration, slow ...time.Duration) []time.Duration {
	return append(slices.Repeat([]time.Duration{usual}, n-len(slow)), slow...)
}

func Example() {
	servers := &fleet{urls: []string{"a", "b", "c", "d"}, slow: "d"}
	report(os.Stdout, []result{
		{policy: "roundrobin", asked: 200, took: 10 * time.Second, times: times(200, 52*ms, 3060*ms, 3060*ms, 3060*ms),
			sent: map[string]int{"a": 50, "b": 50, "c": 50, "d": 50}},
		{policy: "sqf", asked: 200, took: 3600 * ms, times: times(200, 204*ms, 804*ms, 804*ms, 804*ms),
			sent: map[string]int{"a": 61, "b": 61, "c": 60, "d": 18}},
	}, servers)
	// Output:
	// policy        to slow server   seconds       p50       p99  requests/s
	// roundrobin            25.0 %      10.0     52 ms   3060 ms        20.0
	// sqf                    9.0 %       3.6    204 ms    804 ms        55.6
	//
	// roundrobin sent the slow server 25.0 % of the requests and had to wait for it: 10.0 s in all, with a p99 of 3060 ms.
	// sqf saw its queue and sent it 9.0 %: done 2.8 times sooner, with a p99 of 804 ms. (Its p50 is higher because it keeps every server busy.)
}

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		times []time.Duration
		q     float64
		want  time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.5, 7},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{1, 2}, 0.5, 1},
		{[]time.Duration{1, 2, 3}, 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{hundred, 0, 1},
	} {
		assert.Equal(t, c.want, quantile(c.times, c.q), "%d times, q = %v", len(c.times), c.q)
	}
}

func TestShareAndRate(t *testing.T) {
	r := result{took: 2 * time.Second, times: times(30, ms), failed: 10, sent: map[string]int{"a": 30, "b": 10}}
	assert.InDelta(t, 0.25, r.share("b"), 1e-12)
	assert.Zero(t, r.share("c"))
	assert.InDelta(t, 15, r.rate(), 1e-12, "answers, not failures")
	assert.Equal(t, 40, r.finished())
	assert.Zero(t, (&result{}).share("a"))
	assert.Zero(t, (&result{}).rate())
}

func TestMillis(t *testing.T) {
	assert.Equal(t, "0.4 ms", millis(420*time.Microsecond))
	assert.Equal(t, "10 ms", millis(10*ms))
	assert.Equal(t, "3046 ms", millis(3046*ms))
}

func TestReading(t *testing.T) {
	servers := &fleet{urls: []string{"a", "b"}, slow: "b"}
	row := func(policy string, seconds float64, p50 time.Duration) result {
		return result{policy: policy, asked: 2, took: time.Duration(seconds * 1e9), times: []time.Duration{p50, p50}, sent: map[string]int{"a": 1, "b": 1}}
	}
	t.Run("the slowest run against the fastest", func(t *testing.T) {
		lines := reading([]result{row("sqf", 2, ms), row("random", 9, ms), row("p2c", 3, ms)}, servers)
		assert.Len(t, lines, 2)
		assert.Contains(t, lines[0], "random sent the slow server 50.0 %")
		assert.Contains(t, lines[1], "sqf saw its queue and sent it 50.0 %: done 4.5 times sooner")
		assert.NotContains(t, lines[1], "p50")
	})
	t.Run("a run that was stopped is not compared", func(t *testing.T) {
		stopped := row("sqf", 1, ms)
		stopped.asked = 100
		for _, order := range [][]result{{stopped, row("random", 9, ms), row("p2c", 3, ms)}, {row("random", 9, ms), row("p2c", 3, ms), stopped}} {
			lines := reading(order, servers)
			assert.Contains(t, lines[0], "random")
			assert.Contains(t, lines[1], "p2c saw")
		}
	})
	t.Run("the fastest did not spare the slow server", func(t *testing.T) {
		lucky := row("p2c", 1, ms)
		lucky.sent = map[string]int{"a": 1, "b": 3}
		lines := reading([]result{row("random", 9, ms), lucky}, servers)
		assert.Contains(t, lines[0], "about the same time")
	})
	t.Run("one policy, stopped", func(t *testing.T) {
		stopped := row("p2c", 1, ms)
		stopped.asked = 100
		assert.Len(t, reading([]result{stopped}, servers), 1, "whether others were to come is not known")
	})
	t.Run("no difference", func(t *testing.T) {
		lines := reading([]result{row("sqf", 3, ms), row("p2c", 3.1, ms)}, servers)
		assert.Len(t, lines, 2)
		assert.Contains(t, lines[0], "about the same time")
	})
	t.Run("one policy", func(t *testing.T) {
		lines := reading([]result{row("sqf", 3, ms)}, servers)
		assert.Len(t, lines, 2)
		assert.Contains(t, lines[0], "an equal share would be 50.0 %")
	})
}

func TestReportOfNothing(t *testing.T) {
	var out bytes.Buffer
	report(&out, nil, &fleet{})
	assert.Equal(t, "No request was answered.\n", out.String())
}
