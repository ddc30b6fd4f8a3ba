package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// threeRuns is a result with two rows, one of which has published figures.
func threeRuns() result {
	r := goodSlow()
	r.Rows = []row{r.Rows[1], r.Rows[7]}
	r.Rows[0].Published = &figures{Share: 0.09, Seconds: 3.6, P50: 206, P99: 819}
	r.Rows[0].Runs = []run{sent(200, 0.09, 3.6, 1700), sent(200, 0.09, 3.6, 801), sent(200, 0.09, 3.6, 799)}
	return r
}

func TestTextTable(t *testing.T) {
	var out bytes.Buffer
	tableOf(threeRuns(), 3).text(&out)
	assert.Equal(t, `Three servers of 50 ms and one of 200 ms, 200 requests by 16 clients, medians of 3 runs

who chooses             how         to slow server  seconds     p50     p99  p99 in all runs  published: to slow  seconds     p50     p99
nginx                   least_conn           9.0 %    3.6 s  200 ms  801 ms  799 to 1,700 ms               9.0 %    3.6 s  206 ms  819 ms
evenkeel in the client  sqf                  9.0 %    3.6 s  200 ms  805 ms    805 to 805 ms

`, out.String())
}

func TestTableOfOneRunHasNoRange(t *testing.T) {
	for _, r := range []result{goodSlow(), goodCapacity()} {
		one, many := tableOf(r, 1), tableOf(r, 3)
		assert.Len(t, one.lines[0], len(many.lines[0])-1)
		assert.Contains(t, one.title, ", one run")
		for _, line := range one.lines {
			assert.Len(t, line, len(one.lines[0]))
			assert.NotContains(t, strings.Join(line, " "), " to 8")
		}
	}
}

func TestMarkdownTableOfCapacity(t *testing.T) {
	r := goodCapacity()
	r.Rows = r.Rows[2:3]
	r.Rows[0].Published = &figures{Share: 0.3097, Rate: 3213, OfSum: 0.787}
	assert.Equal(t, `Two servers of 2,834 and 1,249 requests/s, 100,000 requests by 16 clients, medians of 3 runs:

| who chooses | how | requests/s | requests/s in all runs | of both | fast server | slow server | share of slow | published: requests/s | of both | share of slow |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| lighttpd | least-connection | 4,050 | 4,050 to 4,050 | 99.2 % | 69,400 | 30,600 | 30.6 % | 3,213 | 78.7 % | 31.0 % |
`, tableOf(r, 3).markdown())
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999.4: "999", 999.5: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, thousands(v))
	}
}

func TestQuoted(t *testing.T) {
	assert.Equal(t, `-check -note 'it'\''s shared' slow -products ''`, quoted([]string{"-check", "-note", "it's shared", "slow", "-products", ""}))
}

func madeReport() report {
	slow, capacity := goodSlow(), goodCapacity()
	slow.Abreast, capacity.Abreast = 9, 1
	r := report{
		Date: "2026-01-02", Command: "GOWORK=off go run . -check", Machine: "2 CPUs", Note: "It is shared", Repeat: 3,
		Versions: []string{"nginx 1.22.1"}, Missing: []string{"haproxy is not installed"}, Results: []result{slow, capacity},
	}
	for _, result := range r.Results {
		r.Verdicts = append(r.Verdicts, judge(result)...)
	}
	return r
}

func TestDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "proxies.md")
	r := madeReport()
	require.NoError(t, writeDocument(file, r))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, want := range []string{
		"    GOWORK=off go run . -check\n",
		"\n- Date: 2026-01-02\n- Machine: 2 CPUs. It is shared\n- Versions: nginx 1.22.1\n- Left out: haproxy is not installed\n",
		"The 9 rows of a table run at the same time",
		"\n\n| who chooses | how | to slow server |",
		"\n| nginx | least_conn | 9.0 % | 3.6 s |",
		"\n| lighttpd | least-connection | 4,050 |",
		"statements about these figures all held.\n",
	} {
		assert.Contains(t, string(text), want)
	}
	assert.NotContains(t, string(text), "<no value>")
	assert.NotContains(t, string(text), "\n\n\n")

	r.Verdicts[0].OK = false
	r.Results = r.Results[:1]
	require.NoError(t, writeDocument(file, r))
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "did not hold:\n\n- "+r.Verdicts[0].What+"; got 25.0 %\n")
	assert.NotContains(t, string(text), "Two speeds")
}

func TestPublishPrintsJSONOrVerdicts(t *testing.T) {
	var out bytes.Buffer
	r := madeReport()
	require.NoError(t, publish(r, options{json: true, check: true}, &out))
	var back report
	require.NoError(t, json.Unmarshal(out.Bytes(), &back), "one object and nothing else")
	assert.Equal(t, r, back)

	out.Reset()
	require.NoError(t, publish(r, options{check: true}, &out))
	assert.Equal(t, len(r.Verdicts), strings.Count(out.String(), "ok     "))
	out.Reset()
	require.NoError(t, publish(r, options{}, &out))
	assert.Empty(t, out.String())

	assert.Error(t, publish(r, options{doc: filepath.Join(t.TempDir(), "no", "such", "dir")}, &out))
}
