package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sent is a run of so many requests with that share to the slow server of four.
func sent(requests int, share, seconds, p99 float64) run {
	slow := int(float64(requests) * share)
	return run{Sent: []int{requests - slow, 0, 0, slow}, Seconds: seconds, P50: 200, P99: p99}
}

// two is the same for two servers.
func two(requests int, share, rate float64) run {
	slow := int(float64(requests) * share)
	return run{Sent: []int{requests - slow, slow}, Seconds: float64(requests) / rate, P50: 1, P99: 2}
}

func rowOf(who, method string, k kind, requests int, r run) row {
	return row{Who: who, Method: method, Kind: k, Requests: requests, Median: r, Runs: []run{r}}
}

// goodSlow is a result of step slow in which all is as expected.
func goodSlow() result {
	return result{Step: stepSlow, Services: []float64{0.05, 0.05, 0.05, 0.2}, Requests: 200, Clients: 16, Rows: []row{
		rowOf("nginx", "round_robin", roundRobin, 200, sent(200, 0.25, 10, 3047)),
		rowOf("nginx", "least_conn", loadAware, 200, sent(200, 0.09, 3.6, 801)),
		rowOf("nginx", "random two least_conn", twoChoices, 200, sent(200, 0.095, 3.8, 1000)),
		rowOf("haproxy", "random(2)", twoDraws, 200, sent(200, 0.15, 4.4, 2100)),
		rowOf("lighttpd", "hash", hashed, 200, sent(200, 0.4, 16, 3200)),
		rowOf(inTheClient, "roundrobin", roundRobin, 200, sent(200, 0.25, 10, 3047)),
		rowOf(inTheClient, "p2c", twoChoices, 200, sent(200, 0.095, 3.8, 1100)),
		rowOf(inTheClient, "sqf", loadAware, 200, sent(200, 0.09, 3.6, 805)),
		rowOf(asAProxy, "sqf", loadAware, 200, sent(200, 0.09, 3.6, 803)),
	}}
}

// goodCapacity is the same of step capacity.
func goodCapacity() result {
	return result{Step: stepCapacity, Services: []float64{1 / 2833.6, 1 / 1249.45}, Requests: 100000, Clients: 16, Rows: []row{
		rowOf(noBalancer, "the slow server alone", alone, 10000, two(10000, 1, 1249)),
		rowOf("lighttpd", "round-robin", roundRobin, 100000, two(100000, 0.5, 2490)),
		rowOf("lighttpd", "least-connection", loadAware, 100000, two(100000, 0.306, 4050)),
		rowOf(inTheClient, "roundrobin", roundRobin, 100000, two(100000, 0.5, 2490)),
		rowOf(inTheClient, "sqf", loadAware, 100000, two(100000, 0.306, 4040)),
		rowOf(asAProxy, "sqf", loadAware, 100000, two(100000, 0.306, 4040)),
	}}
}

func TestCheckHolds(t *testing.T) {
	for _, r := range []result{goodSlow(), goodCapacity()} {
		verdicts := judge(r)
		assert.NotEmpty(t, verdicts)
		for _, v := range verdicts {
			assert.True(t, v.OK, v)
		}
	}
	assert.Len(t, judge(goodSlow()), 8+6, "all shares but the hash's, and p2c and both sqf in time and p99")
	assert.Len(t, judge(goodCapacity()), 2*2+3+2+2)
}

// Each row that is not as expected fails its own statement, and only that.
func TestCheckFinds(t *testing.T) {
	for _, c := range []struct {
		name, who, method string
		result            result
		change            func(*run)
		want              string
	}{
		{"round robin that is not equal", "nginx", "round_robin", goodSlow(), func(r *run) { *r = sent(200, 0.10, 10, 3047) }, "nginx, round_robin sends the slow server 25.0 %"},
		{"a scan that sends too many", "nginx", "least_conn", goodSlow(), func(r *run) { *r = sent(200, 0.13, 3.6, 801) }, "least_conn sends the slow server about 9 %"},
		{"a scan that sends too few", "nginx", "least_conn", goodSlow(), func(r *run) { *r = sent(200, 0.05, 3.6, 801) }, "least_conn sends the slow server about 9 %"},
		{"two choices that send too many", inTheClient, "p2c", goodSlow(), func(r *run) { *r = sent(200, 0.135, 3.8, 1000) }, "p2c sends the slow server about 9 %"},
		{"two draws that send too many", "haproxy", "random(2)", goodSlow(), func(r *run) { *r = sent(200, 0.235, 4.4, 2100) }, "random(2) sends the slow server about 9 %"},
		{"a late sqf", inTheClient, "sqf", goodSlow(), func(r *run) { r.Seconds = 3.85 }, "evenkeel in the client, sqf is done in 3.80 s, as soon as the best proxy (nginx, least_conn: 3.6 s)"},
		{"a long tail of sqf", asAProxy, "sqf", goodSlow(), func(r *run) { r.P99 = 890 }, "evenkeel as a proxy, sqf has a p99 of at most 881 ms, that of the best proxy (nginx, least_conn: 801 ms)"},
		{"a late p2c", inTheClient, "p2c", goodSlow(), func(r *run) { r.Seconds = 4.3 }, "p2c is done in 4.20 s, as soon as the best proxy (nginx, random two least_conn: 3.8 s)"},
		{"a long tail of p2c", inTheClient, "p2c", goodSlow(), func(r *run) { r.P99 = 1300 }, "p2c has a p99 of at most 1,250 ms, that of the best proxy (nginx, random two least_conn: 1,000 ms)"},
		{"round robin that is not half", "lighttpd", "round-robin", goodCapacity(), func(r *run) { *r = two(100000, 0.45, 2490) }, "lighttpd, round-robin sends the slow server half"},
		{"round robin that is too slow", inTheClient, "roundrobin", goodCapacity(), func(r *run) { *r = two(100000, 0.5, 2000) }, "roundrobin makes twice the rate of the slow server, 2,499 requests/s"},
		{"a queue with the wrong share", "lighttpd", "least-connection", goodCapacity(), func(r *run) { *r = two(100000, 0.4, 4050) }, "least-connection sends the slow server its share of the capacity, 30.6 %"},
		{"a sqf below the proxy", inTheClient, "sqf", goodCapacity(), func(r *run) { *r = two(100000, 0.306, 3600) }, "evenkeel in the client, sqf makes at least 90 % of the best proxy's rate (lighttpd, least-connection: 4,050 requests/s)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := false
			for i := range c.result.Rows {
				if r := &c.result.Rows[i]; r.Who == c.who && r.Method == c.method {
					c.change(&r.Median)
					changed = true
				}
			}
			require.True(t, changed)
			var failed []string
			for _, v := range judge(c.result) {
				if !v.OK {
					failed = append(failed, v.What)
				}
			}
			require.Len(t, failed, 1)
			assert.Contains(t, failed[0], c.want)
		})
	}
}

// A shortest queue that makes little more than round robin fails.
func TestCheckFindsAQueueWithoutAdvantage(t *testing.T) {
	r := goodCapacity()
	r.Rows[2].Median = two(100000, 0.306, 3000)
	var failed []string
	for _, v := range judge(r) {
		if !v.OK {
			failed = append(failed, v.String())
		}
	}
	require.Len(t, failed, 1)
	assert.Equal(t, "FAILED two speeds: lighttpd, least-connection makes at least 1.25 times the rate of round robin (2,490 requests/s); got 3,000 requests/s", failed[0])
}

// Where no proxy ran there is nobody to be compared with.
func TestCheckWithoutProxies(t *testing.T) {
	r := goodSlow()
	r.Rows = r.Rows[5:]
	for _, v := range judge(r) {
		assert.NotContains(t, v.What, "best proxy")
	}
}
