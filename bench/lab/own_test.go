package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-go/evenkeel/bench/sim"
)

// own runs lab own with these arguments and returns what it printed.
func own(t *testing.T, args string) string {
	t.Helper()
	code, out, stderr := runLab(t, t.Context(), append([]string{"own"}, strings.Fields(args)...)...)
	require.Zero(t, code, stderr)
	return out
}

func TestOwnRanksPolicies(t *testing.T) {
	code, out, stderr := runLab(t, t.Context(), "own", "-servers", "6", "-speeds", "1x5,0.2", "-rho", "0.7", "-horizon", "1500", "-seeds", "6")
	require.Zero(t, code, stderr)
	lines := strings.Split(out, "\n")
	assert.Contains(t, lines[0], "6 servers of speed 1x5,0.2, utilization 0.7")
	assert.True(t, strings.HasPrefix(lines[2], "sqf"), lines[2])
	assert.Contains(t, lines[2], "best")
	assert.Contains(t, out, "advice: not random or roundrobin, under which the queue of server 5 (of 0 to 5) grows for ever; take sqf, that is sqf.New(pool); its p99")
}

func TestOwnUsesEveryFlag(t *testing.T) {
	dir := t.TempDir()
	durations := filepath.Join(dir, "durations")
	times := filepath.Join(dir, "times")
	require.NoError(t, os.WriteFile(durations, []byte("# ms\n10\n20\n\n30\n"), 0o600))
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintln(&b, i*4)
	}
	require.NoError(t, os.WriteFile(times, []byte(b.String()), 0o600))
	for _, args := range []string{
		"-work file:" + durations + " -arrivals file:" + times + " -policies sqf,p2c",
		"-arrivals bursty:5,5 -rho 0.5 -work pareto:2.5 -concurrency 2 -policies p2c",
		"-clients 20 -think 2 -policies sqf,random -by mean",
		"-view stale:2 -policies sqf,p2c -rtt 0.2",
		"-view work -work constant -policies sqf",
		"-limit 2 -backlog 5 -patience 2 -rho 1.3 -ejection -failing 0.5,0x9 -policies sqf,random",
		"-failing 0.5,0x9 -failwork 0.1 -ejection -slowstart -tick 10ms -policies p2c,sqf",
		"-changes 100:0=0.1,200:0=1 -weights 1 -policies p3c",
	} {
		code, out, stderr := runLab(t, t.Context(), append([]string{"own", "-horizon", "500", "-seeds", "2"}, strings.Fields(args)...)...)
		require.Zero(t, code, "%s: %s", args, stderr)
		assert.Contains(t, out, "advice:", args)
	}
}

func TestOwnSpeaksJSON(t *testing.T) {
	code, out, stderr := runLab(t, t.Context(), "-json", "own", "-horizon", "300", "-seeds", "2", "-policies", "p2c,sqf")
	require.Zero(t, code, stderr)
	for line := range strings.Lines(out) {
		var rec record
		require.NoError(t, json.Unmarshal([]byte(line), &rec))
		assert.Equal(t, "own", rec.Step)
		assert.Positive(t, *rec.Mean)
	}
}

func TestConfidenceIntervalIsStudents(t *testing.T) {
	// 95 % for two degrees of freedom: 4.3027 standard errors.
	s := sample{1, 2, 3}
	assert.InDelta(t, 4.302653*1/math.Sqrt(3), s.interval(0.95), 1e-5)
	assert.True(t, math.IsInf(sample{1}.interval(0.95), 1))
	assert.Equal(t, sample{1, 0, -1}, sample{3, 3, 3}.minus(sample{2, 3, 4}))
}

func TestAdviceIsOneSentence(t *testing.T) {
	base := []string{"own", "-servers", "4", "-speeds", "1x3,0.2", "-rho", "0.7", "-horizon", "600", "-seeds", "4", "-policies"}
	for policies, says := range map[string]string{
		"sqf":               "advice: only sqf was tried",
		"random,roundrobin": "under which the queue of server 3 (of 0 to 3) grows for ever; none of these suits.",
		"sqf,random":        "advice: not random, under which the queue of server 3 (of 0 to 3) grows for ever; take sqf, that is sqf.New(pool); it is the only one",
	} {
		code, out, stderr := runLab(t, t.Context(), append(base, policies)...)
		require.Zero(t, code, stderr)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		advice := lines[len(lines)-1]
		assert.Contains(t, advice, says)
		assert.True(t, strings.HasSuffix(advice, "."), advice)
	}
}

// outcome is a contender whose runs all had this p99 and lost this share of 10,000
// requests.
func outcome(name string, p99, lost float64) contender {
	c := contender{name: name, runs: &runs{}}
	for range 4 {
		failed := int64(math.Round(lost * 10_000))
		c.results = append(c.results, &sim.Result{P99: p99, Requests: 10_000 - failed, Failed: failed, Ejections: make([]int, 4)})
	}
	return c
}

func verdictOf(cfg sim.Config, all ...contender) *verdict {
	if cfg.Servers == 0 {
		cfg = sim.Config{Servers: 4, Speeds: []float64{1, 1, 1, 1}, Workers: 1, Work: sim.Exponential{}, Arrivals: sim.Poisson(3), Pool: sim.Plain()}
	}
	return rank(&cfg, "p99", all)
}

func names(v *verdict) string {
	var list []string
	for _, c := range v.ranked {
		list = append(list, c.name)
	}
	return strings.Join(list, " ")
}

func TestSmallLossDoesNotBeatHalvedP99(t *testing.T) {
	v := verdictOf(sim.Config{}, outcome("roundrobin", 14.8, 0.1249), outcome("sqf", 7.35, 0.1301))
	assert.Equal(t, "sqf roundrobin", names(v))
	assert.Equal(t, "its p99 of 7.35 is 50.3 % below the 14.8 of the next, roundrobin, which outweighs that it leaves 13.0 % of the requests without a good answer, and roundrobin 12.5 %", v.why(4))
	assert.InDelta(t, 0.404, v.comparison[1].mid, 0.001, "14.8/7.35 is 2.014, 0.52 per cent more lost counts for 1.434")
}

func TestLargeLossBeatsAQuickerPolicy(t *testing.T) {
	v := verdictOf(sim.Config{}, outcome("p2c", 5, 0.05), outcome("sqf", 7, 0.001))
	assert.Equal(t, "sqf p2c", names(v))
	assert.Equal(t, "it leaves 0.100 % of the requests without a good answer, the next, p2c, 5.00 %, which outweighs that its p99 is 7.00 and not 5.00", v.why(4))
}

func TestBetterInBothSaysBoth(t *testing.T) {
	v := verdictOf(sim.Config{}, outcome("p2c", 10, 0.02), outcome("sqf", 8, 0.01))
	assert.Equal(t, "its p99 of 8.00 is 20.0 % below the 10.0 of the next, p2c, and it leaves 1.00 % of the requests without a good answer, not 2.00 %", v.why(4))
	assert.Equal(t, "weighed p99", v.measure())
}

func TestOrderAndSentenceUseTheSameMeasure(t *testing.T) {
	for _, p99 := range []float64{1, 5, 10, 4910} {
		for _, lost := range []float64{0, 0.001, 0.01, 0.3} {
			v := verdictOf(sim.Config{}, outcome("p2c", p99, lost), outcome("sqf", 5, 0.005))
			assert.GreaterOrEqual(t, v.comparison[1].mid, 0.0)
			assert.NotContains(t, v.why(4), "-")
			assert.NotContains(t, v.why(4), "e+")
		}
	}
}

func TestAmongEqualsTheOneThatLooksAtFewest(t *testing.T) {
	v := verdictOf(sim.Config{}, outcome("sqf", 5, 0), outcome("p3c", 5.01, 0), outcome("roundrobin", 5.02, 0))
	for i := range v.comparison {
		v.comparison[i].noise = true
	}
	assert.Equal(t, "p3c", v.ranked[v.simplest(4)].name)
	v.take = v.simplest(4)
	assert.Contains(t, v.why(4), "costs less for each pick: it looks at 3 servers, not at 4")
	assert.Equal(t, "avoids a server that turns slow, which random does not", simpler("p2c", "random", 4))
	assert.Equal(t, "costs less for each pick than random", simpler("roundrobin", "random", 4))
}

func TestAdviceNamesTheCode(t *testing.T) {
	assert.Equal(t, "p3c, that is p2c.NewWith(pool, p2c.Config{D: 3})", call("p3c", 4))
	assert.Equal(t, "p3c, that is p2c.NewWith(pool, p2c.Config{D: 3}) (which with 3 servers is sqf)", call("p3c", 3))
	assert.Equal(t, "sqf, that is sqf.New(pool)", call("sqf", 3))
	for _, name := range shippedPolicies() {
		assert.NotEmpty(t, constructors[name], name)
	}
	out := own(t, "-servers 3 -horizon 300 -seeds 2")
	assert.Contains(t, out, "with 3 servers p3c looks at all of them: it is sqf")
	assert.NotContains(t, out, "\np3c")
}

func TestQueuesThatGrow(t *testing.T) {
	fleet := func(rate float64, speeds ...float64) sim.Config {
		return sim.Config{Servers: len(speeds), Speeds: speeds, Workers: 1, Work: sim.Exponential{}, Arrivals: sim.Poisson(rate), Pool: sim.Plain()}
	}
	two := fleet(8, 1, 1, 0.01, 1, 1, 1, 1, 0.01, 1, 1)
	assert.Equal(t, []int{2, 7}, drowned(&two, "random"))
	assert.Equal(t, []int{2, 7}, drowned(&two, "p2c"), "one request in 45 has no other choice")
	assert.Empty(t, drowned(&two, "p3c"))
	assert.Empty(t, drowned(&two, "sqf"))
	assert.Equal(t, "the queues of servers 2 and 7 (of 0 to 9) grow for ever", growth(&two, []int{2, 7}))

	full := fleet(4, 1, 1, 1, 1)
	assert.Len(t, drowned(&full, "sqf"), 4, "as much as all can do is too much")
	assert.Equal(t, "all queues grow for ever", growth(&full, drowned(&full, "sqf")))

	weighted := fleet(1.6, 1, 0.5, 1)
	assert.Equal(t, []int{1}, drowned(&weighted, "roundrobin"))
	weighted.Weights = []float64{2, 1, 2}
	assert.Empty(t, drowned(&weighted, "roundrobin"))
	assert.Empty(t, drowned(&weighted, "p2c"))

	limited := two
	limited.Pool.MaxInFlight = 1
	assert.Empty(t, drowned(&limited, "random"), "what waits has a bound")

	later := fleet(2, 1, 1, 1)
	later.Changes = []sim.Change{{At: 9, Server: 0, Speed: 0.1}, {At: 5, Server: 0, Speed: 1}}
	assert.Equal(t, []int{0}, drowned(&later, "random"), "the last change counts")

	failing := fleet(2, 1, 0.5, 1)
	assert.Equal(t, []int{1}, drowned(&failing, "random"))
	failing.Failing = []float64{0, 0.5, 0}
	assert.Empty(t, drowned(&failing, "random"), "a call that fails at once takes no work")
	failing.FailWork = 1
	assert.Equal(t, []int{1}, drowned(&failing, "random"))
	failing.Pool.Ejection.Off = false
	assert.Empty(t, drowned(&failing, "random"), "it may be ejected")
}

func TestShortageWhileAServerIsEjectedComesFirst(t *testing.T) {
	cfg := sim.Config{Servers: 4, Speeds: []float64{1, 1, 1, 1}, Workers: 1, Work: sim.Exponential{}, Arrivals: sim.Poisson(3.2)}
	c := outcome("sqf", 5, 0)
	assert.Empty(t, shortage(&cfg, []contender{c}))
	c.results[2].Ejections[3] = 1
	assert.Equal(t, []int{3}, shortage(&cfg, []contender{c}))
	v := verdictOf(cfg, c, outcome("p2c", 9, 0))
	assert.True(t, strings.HasPrefix(v.advice(&cfg), "advice: while server 3 is ejected, the other servers are sent more than they can do and their queues grow, under any policy; take sqf"), v.advice(&cfg))
	cfg.Arrivals = sim.Poisson(2.9)
	assert.Empty(t, shortage(&cfg, []contender{c}))
}

func TestOwnNamesEverythingInItsTitle(t *testing.T) {
	out := own(t, "-servers 5 -concurrency 2 -speeds 1x4,0.5 -weights 1x4,0.5 -changes 10:0=1 -failing 0.5,0x4 -failwork 0.1 -ejection -slowstart -limit 9 -backlog 7 -patience 3 -view stale:2 -dispatchers 2 -rtt 0.1 -horizon 300 -seeds 2 -policies sqf")
	title, _, _ := strings.Cut(out, "\n")
	assert.Equal(t, "own: 5 servers of speed 1x4,0.5 that do 2 requests at once, utilization 0.8, work exponential, 2 dispatchers, view stale:2, rtt 0.1, weights 1x4,0.5, changes 10:0=1, failing 0.5,0x4 after 0.1 of the work, ejection and slow start (a unit of time is 10ms), limit 9, backlog 7, patience 3, 2 seeds", title)
}

func TestOwnCountsEjections(t *testing.T) {
	fleet := "-failing 0.5,0x9 -failwork 0.5 -rho 0.5 -horizon 2000 -seeds 2 -policies p2c,sqf "
	out := own(t, fleet+"-ejection")
	assert.Contains(t, out, "ejections", "the default tick lets ejection be seen")
	assert.NotContains(t, out, "nothing was ejected")
	assert.Contains(t, own(t, strings.Replace(fleet, "0.5,0x9", "0.05,0x9", 1)+"-ejection -tick 4s"), "nothing was ejected: no server failed often enough within the window of 10 s, which is 2.50 units of time")
	assert.NotContains(t, own(t, fleet), "ejections")
}
