package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func traceFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestTraceIsReadInEveryFormAndSorted(t *testing.T) {
	want := &recording{times: []float64{1764547200, 1764547200.25, 1764547201}, durations: []float64{0.5, 0.0125, 2}}
	for name, text := range map[string]string{
		"a head in another order": "duration,path,Time\n0.5,/,1764547200\n2,/a,1764547201\n0.0125,\"/b,c\",1764547200.25\n",
		"no head":                 "# a comment\n1764547200,0.5,x\n1764547201,2,y\n\n1764547200.25,0.0125,z\n",
		"dates and units":         "time,duration\n2025-12-01T00:00:01Z,2s\n2025-12-01T01:00:00+01:00, 500ms\n2025-12-01T00:00:00.25Z,12.5ms\n",
		"JSON": `{"time": 1764547200, "duration": 0.5, "path": "/"}` + "\n\n" +
			`{"duration": "2s", "time": "2025-12-01T00:00:01Z"}` + "\n" + `{"time": "1764547200.25", "duration": "0.0125"}` + "\n",
	} {
		got, err := readTrace(traceFile(t, text))
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}

func TestTraceErrorsNameTheFileAndTheLine(t *testing.T) {
	for text, says := range map[string]string{
		"":                                      "holds no request",
		"# nothing\ntime,duration\n":            "holds no request",
		"time,took\n1,2\n":                      `line 1: there is no column "duration" in "time,took"`,
		"at,duration\n1,2\n":                    `line 1: there is no column "time"`,
		"1\n2\n":                                `line 1: there is no column "duration" in "1"`,
		"time,duration\n1,2\nnow,2\n":           `line 3: the time "now" is neither a number of seconds nor a date`,
		"time,duration\n1,2\n\n\nInf,2\n":       `line 5: the time "Inf"`,
		"time,duration\n1,fast\n":               `line 2: the duration "fast" is neither`,
		"time,duration\n1,-2\n":                 `line 2: the duration "-2"`,
		"1,2\n3,NaN\n":                          `line 2: the duration "NaN"`,
		"1,2\n3\n":                              "line 2: wrong number of fields",
		"1,2\n3,\"4\n":                          `line 2: extraneous or missing "`,
		"{\"time\": 1, \"duration\": 2}\nnot\n": "line 2: it is no JSON object",
		"{\"time\": 1}\n":                       `line 1: there is no key "duration"`,
		"{\"time\": 1, \"duration\": []}\n":     `line 1: the duration "[]"`,
	} {
		file := traceFile(t, text)
		_, err := readTrace(file)
		require.ErrorContains(t, err, says, "%q", text)
		require.ErrorContains(t, err, file, "%q", text)
	}
	_, err := readTrace(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOwnAnswersFromATrace(t *testing.T) {
	out := own(t, "-servers 4 -trace testdata/trace.csv -seeds 4 -policies sqf,random")
	assert.Contains(t, out, "own: 4 servers, utilization 0.811 by testdata/trace.csv, mean work 27.4 ms, times in ms, 4 seeds")
	assert.Contains(t, out, "advice: take sqf")
	out = own(t, "-servers 8 -trace testdata/trace.jsonl -seeds 2 -policies sqf,p2c")
	assert.Contains(t, out, "mean work 24.5 ms")
	out = own(t, "-servers 2 -trace testdata/trace.csv -seeds 2 -policies sqf,random")
	assert.Contains(t, out, "under which all queues grow as long as requests come; none of these suits, and sqf comes nearest.")
}

// One server and no waiting: the times are the recorded durations, in ms.
func TestTraceIsReplayedAsItWasRecorded(t *testing.T) {
	file := traceFile(t, "time,duration\n0,0.010\n1,0.020\n2,0.030\n3,0.040\n")
	code, out, stderr := runLab(t, t.Context(), strings.Fields("-csv own -servers 1 -warmup 0 -seeds 2 -policies sqf -trace "+file)...)
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "own,sqf,sqf,")
	assert.Contains(t, out, ",2,25,")
}

func TestTraceExcludesWhatItSays(t *testing.T) {
	file := traceFile(t, "0,1\n1,1\n")
	same := traceFile(t, "1,1\n1,1\n")
	for args, says := range map[string]string{
		"-rho 0.5":          "-rho: it says how much traffic there is, and so does -trace",
		"-rate 2":           "-rate: it says",
		"-clients 2":        "-clients: it says",
		"-arrivals poisson": "-arrivals: it says",
		"-work constant":    "-work: it has no effect with -trace",
		"-unit 2":           "-unit: it has no effect with -trace",
		"-tick 1s":          "-tick: it has no effect with -trace",
		"-speeds 0":         "-speeds: all servers stand still",
		"-trace " + same:    "all arrivals are at one time",
	} {
		code, _, stderr := runLab(t, t.Context(), append([]string{"own", "-trace", file}, strings.Fields(args)...)...)
		assert.Equal(t, 2, code, args)
		assert.Contains(t, stderr, says, args)
	}
}
