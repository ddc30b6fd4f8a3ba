package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lab runs the program with these arguments and returns what it printed.
func runLab(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	errFile, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer errFile.Close()
	var out bytes.Buffer
	code = run(ctx, args, &out, errFile)
	text, err := os.ReadFile(errFile.Name())
	require.NoError(t, err)
	return code, out.String(), string(text)
}

func TestPublishedFiguresAreAllRead(t *testing.T) {
	p, err := loadPublished()
	require.NoError(t, err)
	assert.Equal(t, 1_000_000, p.Balls.N)
	assert.Equal(t, 46.4, p.Validate.Rows[1].P99)
	assert.Equal(t, 2.028, p.Policies.MeanField["3"])
	assert.Equal(t, 0.0382, p.Tails.P2cFormula[4])
	assert.Equal(t, 506.1, p.Stale.Rows[7].SQFP99)
	assert.Equal(t, 22.7, p.Dispatchers.Rows[6].P2CP99)
	assert.Equal(t, 6.8, p.Sick.HealthyP2c.P99)
	assert.Equal(t, 1.83, p.Heavy.Rows[2].Mean)
	assert.Equal(t, 2342.0, p.Slowbackend.Rows[2].Max)
	assert.Equal(t, 4.01, p.Mistakes.Replacement[0].WithReplacement)
	assert.Equal(t, 0.032, p.Mistakes.Ties.LowestIndex.First)
	assert.Equal(t, 0.0101, p.Mistakes.Ties.Random.First)
	assert.Equal(t, 197.0, p.Mistakes.Leak.WithRelease.Recovered)
	assert.Equal(t, 1.0, p.Mistakes.Leak.Without.Left)
	assert.Equal(t, 69048.0, p.Lighty.Rows[1].Requests25)
}

// The steps that are quick enough for a test, against what was published.
func TestStepsAgreeWithWhatWasPublished(t *testing.T) {
	page := filepath.Join(t.TempDir(), "report.html")
	plots := t.TempDir()
	code, out, stderr := runLab(t, t.Context(), "-check", "-seeds", fewSeeds, "sick", "-html", page, "lighty", "-svg", plots)
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "sick: 10 servers")
	assert.Contains(t, out, "lighty: backends")
	assert.Contains(t, stderr, "sick: done after")
	assert.Contains(t, stderr, "checked: 16 figures of 2 steps agree with what was published; 6 more stand beside a published figure and are not checked")
	assert.Contains(t, out, "allowed", "the tolerances are shown")
	assert.Contains(t, out, "+27.1%  not checked")
	assert.Contains(t, out, "the order of the rows by p99: as published")
	assert.Contains(t, out, "reach alone: holds")
	assert.NotContains(t, stderr, "\r", "nothing is drawn again where it is no terminal")

	text, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(text), `<h2 id="lighty">Two unequal backends behind a proxy</h2>`)
	assert.NotContains(t, string(text), "http-equiv")
	for _, outside := range []string{"src=", "@import", "<link", "<script"} {
		assert.NotContains(t, string(text), outside, "the page needs nothing else")
	}
	svg, err := os.ReadFile(filepath.Join(plots, "sick.svg"))
	require.NoError(t, err)
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

func TestSameResultsWhateverRunsSideBySide(t *testing.T) {
	_, one, _ := runLab(t, t.Context(), "sick", "-seeds", "2", "-parallel", "1")
	_, two, _ := runLab(t, t.Context(), "sick", "-seeds", "2", "-parallel", "4")
	assert.Equal(t, one, two)
}

func TestCheckNamesTheRowThatDisagrees(t *testing.T) {
	p, err := loadPublished()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Sick.Rows[2].P99 *= 2
	p.Sick.Rows[3].Mean = 1.3
	r, err := planSick(&lab{engine: newEngine(ctx, 2, 8), published: p, scale: 1})
	require.NoError(t, err)
	table, err := r(ctx)
	require.NoError(t, err)
	wrong := strings.Join(table.disagreements(), "\n")
	assert.Contains(t, wrong, `row "2 choices": p99`)
	assert.Contains(t, wrong, `row "shortest queue": mean`)
	assert.NotContains(t, wrong, `row "random"`)
}

func TestToleranceIsThreeErrorsAndOnePercentAndTheRounding(t *testing.T) {
	s := sample{9, 11} // mean 10, standard deviation √2
	m := shown("mean", s.mean(), 1).against(12, s, 2)
	assert.InDelta(t, 3+0.12+0.05, m.tolerance, 1e-12)
	assert.True(t, m.agrees())
	m.published = 13.2
	assert.False(t, m.agrees())
	share := shown("share", 0.5, 1).asPercent().against(0.5, sample{0.5, 0.5}, 1)
	assert.InDelta(t, 0.005+0.0005, share.tolerance, 1e-12)
	assert.True(t, shown("only shown", 1, 1).beside(7).agrees())
}

func TestAllowedIsInTheUnitOfTheDifference(t *testing.T) {
	m := shown("mean", 11, 1).within(10, 0.2)
	assert.Equal(t, "+10.0%", m.difference())
	assert.Equal(t, "±20.0%", m.allowed())
	m = shown("share", 0.12, 1).asPercent().within(0.1, 0.3)
	assert.Equal(t, "+2.0", m.difference())
	assert.Equal(t, "±3.0", m.allowed())
	assert.Equal(t, "not checked", shown("peak", 1, 0).beside(2).allowed())
	assert.Empty(t, shown("alone", 1, 0).allowed())
	m = shown("left", 0, 0)
	m.published, m.tolerance = 0, 1
	assert.Equal(t, "±1", m.allowed())
}

func TestOrderOfRows(t *testing.T) {
	line := func(label string, value, published, noise float64) row {
		m := shown("mean", value, 2)
		m.published, m.noise = published, noise
		return row{label: label, measures: []measure{m}}
	}
	of := func(rows ...row) []string {
		return (&table{step: "x", rows: rows, orders: []string{"mean"}}).disagreements()
	}
	assert.Empty(t, of(line("a", 1, 1, 0.01), line("b", 2, 2, 0.01)))
	assert.Len(t, of(line("a", 2.1, 1, 0.01), line("b", 2, 2, 0.01)), 1)
	assert.Empty(t, of(line("a", 2.1, 1.9, 0.1), line("b", 2, 2, 0.1)), "published within the noise")
	assert.Len(t, of(line("a", 3, 1.9, 0.1), line("b", 2, 2, 0.1)), 1, "but not that far apart")
	assert.Empty(t, of(line("a", 2, 1, 0), row{label: "c"}), "rows without the measure have no order")
}

func TestJSONIsOneObjectARow(t *testing.T) {
	code, out, stderr := runLab(t, t.Context(), "-json", "sick", "-seeds", "2")
	require.Zero(t, code, stderr)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 5)
	for _, line := range lines {
		var rec map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &rec), line)
		for _, key := range []string{"step", "policy", "inputs", "mean", "p50", "p99", "p999", "peak", "share0", "published"} {
			assert.Contains(t, rec, key)
		}
		assert.NotEmpty(t, rec["published"])
		assert.Contains(t, rec["allowed"], "mean")
		assert.NotContains(t, rec["allowed"], "fullest queue", "it is not checked")
		assert.Greater(t, rec["p99"], rec["p50"])
	}
}

func TestCSVHasTheSameRows(t *testing.T) {
	code, out, stderr := runLab(t, t.Context(), "sick", "-csv", "-seeds", "2")
	require.Zero(t, code, stderr)
	all, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, all, 6)
	assert.Equal(t, "step", all[0][0])
	assert.Equal(t, "sick", all[1][0])
	assert.Contains(t, all[1][3], "speeds=0.2,1x9")
}

func TestInterruptEndsCleanlyWithWhatIsThere(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, out, stderr := runLab(t, ctx, "stale", "dispatchers")
	assert.Equal(t, 130, code)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "interrupted after")
	assert.Contains(t, stderr, "0 of 2 steps were done")
}

func TestSlowBackendInRealTimeFollowsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, _ := runLab(t, ctx, "slowbackend")
	assert.Equal(t, 130, code)
}

func TestBadFlagsAreOneSentenceThatNamesThem(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	bad, few := write("bad", "1\ntwo\n"), write("few", "# nothing\n")
	back := write("back", "3\n2\n")
	for _, c := range []struct {
		args string
		says string
	}{
		{"polices", `"polices" is no step`},
		{"-seeds 1", "-seeds: 1 is not within"},
		{"-parallel 0", "-parallel: 0"},
		{"-scale 0", "-scale: 0"},
		{"-json -csv", "-csv: it cannot"},
		{"-seeds x", "-seeds"},
		{"-bogus", "-bogus"},
		{"-check own", "own stands alone"},
		{"own policies", `"policies" is no flag`},
		{"own -servers 0", "-servers: 0"},
		{"own -servers x", "-servers"},
		{"own -concurrency -1", "-concurrency: -1"},
		{"own -dispatchers 0", "-dispatchers: 0"},
		{"own -servers 3 -speeds 1,2", "-speeds: it lists 2 servers, but there are 3"},
		{"own -speeds fast", `-speeds: "fast" is not a number`},
		{"own -speeds 1xmany", `-speeds: "1xmany"`},
		{"own -speeds 0", "-speeds: all servers stand still"},
		{"own -weights 1,-1", "-weights"},
		{"own -failing 2", "-failing: server 0 has 2"},
		{"own -rho 1.2", "-rho: "},
		{"own -rho -1", "-rho: -1"},
		{"own -rate 100", "-rate: 100 arrivals"},
		{"own -rho 0", "-rho: nothing arrives"},
		{"own -rho 0.5 -rate 3", "-rate: it says how much traffic"},
		{"own -rho 0.5 -clients 3", "-clients: it says how much traffic"},
		{"own -think 1", "-think: it has no effect"},
		{"own -clients 3 -arrivals bursty:1,1", "-arrivals: clients"},
		{"own -arrivals sometimes", `-arrivals: "sometimes"`},
		{"own -arrivals bursty:1", "-arrivals"},
		{"own -arrivals file:" + dir + "/none", "-arrivals: open"},
		{"own -arrivals file:" + back, "is before the one above"},
		{"own -work lognormal", "-work"},
		{"own -work lognormal:-1", "-work"},
		{"own -work pareto:1", "-work"},
		{"own -work gauss", `-work: "gauss"`},
		{"own -work file:" + bad, `line 2: "two" is not a number`},
		{"own -work file:" + few, "holds no number"},
		{"own -view board", `-view: "board"`},
		{"own -view stale", "-view"},
		{"own -view stale:-1", "-view"},
		{"own -changes 5:0", "-changes"},
		{"own -changes 5:10=1", "there is no server 10"},
		{"own -backlog 3", "-backlog: it has no effect without -limit"},
		{"own -patience 3", "-patience: it has no effect without -backlog"},
		{"own -slowstart", "-slowstart: it has no effect without -ejection"},
		{"own -policies best", `-policies: "best"`},
		{"own -policies sqf,sqf", "-policies: sqf stands twice"},
		{"own -by p98", `-by: "p98"`},
		{"own -tick 0s", "-tick: 0s"},
		{"own -warmup 9 -horizon 8", "-warmup: 9"},
		{"own -horizon -1", "-horizon: -1"},
		{"own -rtt NaN", "-rtt: NaN"},
		{"own -seeds 1", "-seeds: 1"},
	} {
		code, out, stderr := runLab(t, t.Context(), strings.Fields(c.args)...)
		assert.Equal(t, 2, code, c.args)
		assert.Empty(t, out, c.args)
		assert.Contains(t, stderr, c.says, c.args)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
	}
}

func TestHelpListsStepsAndFlags(t *testing.T) {
	code, _, stderr := runLab(t, t.Context(), "-h")
	assert.Zero(t, code)
	assert.Contains(t, stderr, "dispatchers")
	assert.Contains(t, stderr, "-check")
	code, _, stderr = runLab(t, t.Context(), "own", "-h")
	assert.Zero(t, code)
	assert.Contains(t, stderr, "-speeds")
}

func TestParseList(t *testing.T) {
	got, err := parseList("1x3, 0.5,2x2", 6)
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 1, 1, 0.5, 2, 2}, got)
	got, err = parseList("0.5", 3)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.5, 0.5, 0.5}, got)
}

func TestMeanFieldFormulas(t *testing.T) {
	assert.InDelta(t, 2.614, meanField(2, 0.9), 0.0005)
	assert.InDelta(t, 10, meanField(1, 0.9), 1e-9)
	assert.InDelta(t, 0.4783, meanFieldTail(2, 0.9, 3), 0.00005)
}

func TestBallsAreCountedByLeases(t *testing.T) {
	p, err := loadPublished()
	require.NoError(t, err)
	p.Balls.N, p.Balls.Runs = 1000, 3
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := planBalls(&lab{engine: newEngine(ctx, 1, 2), published: p, scale: 1})
	require.NoError(t, err)
	table, err := r(ctx)
	require.NoError(t, err)
	one, two := table.rows[0].measures[0].value, table.rows[1].measures[0].value
	assert.Greater(t, one, two)
	assert.InDelta(t, math.Exp(-1), table.rows[0].measures[1].value, 0.03)
}

func TestLostCountKeepsABackendOut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &lab{engine: newEngine(ctx, 2, 4), scale: 1}
	leaks := l.planLeak(4, 400, 100)
	require.NoError(t, leaks.wait(ctx))
	right, wrong := leaks.figures[0], leaks.figures[1]
	assert.Zero(t, right.left.mean())
	assert.InDelta(t, 75, right.recovered.mean(), 15)
	assert.Equal(t, sample{1, 1, 1, 1}, wrong.left)
	assert.Zero(t, wrong.recovered.mean())
}

func TestTerminalLineIsWiped(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, now: "stale", stop: make(chan struct{})}
	p.draw(3, 10)
	assert.Contains(t, b.String(), "\rstale: 3 of 10 runs")
	p.note("stale: done")
	assert.True(t, strings.HasSuffix(b.String(), "\rstale: done\n"), "%q", b.String())
}
