package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMedianIsThatOfEachFigure(t *testing.T) {
	runs := []run{
		{Sent: []int{10, 90}, Seconds: 3, P50: 1, P99: 20},
		{Sent: []int{30, 70}, Seconds: 1, P50: 2, P99: 30},
		{Sent: []int{20, 80}, Seconds: 2, P50: 3, P99: 10},
	}
	assert.Equal(t, run{Sent: []int{20, 80}, Seconds: 2, P50: 2, P99: 20}, median(runs))
	assert.Equal(t, run{Sent: []int{10, 70}, Seconds: 1, P50: 1, P99: 20}, median(runs[:2]), "of an even number the lower one")
	assert.InDelta(t, 0.8, median(runs).slow(), 1e-9)
}

// inProcess is a subject that sends all requests to one of the servers.
func inProcess(server, requests int) subject {
	return subject{who: "test", method: "one", kind: alone, requests: requests,
		open: func(_ context.Context, servers []string) (target, error) { return straight(servers[server]), nil }}
}

func TestMeasureKeepsTheOrder(t *testing.T) {
	for _, abreast := range []int{0, 1} {
		c := contest{step: "test", services: []time.Duration{time.Microsecond, time.Microsecond}, requests: 20, clients: 4, abreast: abreast,
			subjects: []subject{inProcess(0, 20), inProcess(1, 30)}}
		rows, err := measure(t.Context(), c, 3, &progress{})
		require.NoError(t, err)
		require.Len(t, rows, 2)
		assert.Len(t, rows[0].Runs, 3)
		assert.Equal(t, []int{20, 0}, rows[0].Median.Sent)
		assert.Equal(t, []int{0, 30}, rows[1].Median.Sent)
	}
}

// A subject that fails ends the others, and its error says whose it is.
func TestMeasureEndsAtTheFirstFailure(t *testing.T) {
	bad := inProcess(0, 20)
	bad.who, bad.method = "nginx", "least_conn"
	bad.open = func(context.Context, []string) (target, error) { return target{}, errors.New("no such directive") }
	waits := inProcess(0, 20)
	waits.open = func(context.Context, []string) (target, error) {
		return imagined(func(r *http.Request) (int, string, error) {
			<-r.Context().Done()
			return 0, "", r.Context().Err()
		}), nil
	}
	c := contest{step: "test", services: []time.Duration{time.Microsecond}, clients: 4, subjects: []subject{waits, bad}}
	_, err := measure(t.Context(), c, 1, &progress{})
	assert.EqualError(t, err, "nginx, least_conn: no such directive")
}

func TestProgressIsForTerminalsOnly(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out}
	p.begin("slow", 10)
	p.end()
	assert.Empty(t, out.String())

	p = &progress{out: &out, terminal: true}
	p.begin("slow", 10)
	p.count()
	p.draw("slow: 1 of 10 requests, 0 s")
	p.end()
	assert.Equal(t, "\rslow: 1 of 10 requests, 0 s\r                           \r", out.String(), "and the line is gone at the end")
}
