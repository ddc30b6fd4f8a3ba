package orca

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parsed(header string) (map[string]float64, error) {
	got := map[string]float64{}
	err := Parse(header, func(name string, value float64) { got[name] = value })
	return got, err
}

func TestParse(t *testing.T) {
	one := map[string]float64{"cpu_utilization": 0.3, "named_metrics.queue": 4}
	for header, want := range map[string]map[string]float64{
		"TEXT cpu_utilization=0.3,named_metrics.queue=4":                  one,
		"TEXT cpu_utilization:0.3,named_metrics.queue:4":                  one,
		"text cpu_utilization = 0.3, named_metrics.queue = 4":             one,
		"cpu_utilization=0.3,named_metrics.queue=4":                       one,
		"cpu_utilization:0.3, named_metrics.queue:4":                      one,
		`JSON {"cpu_utilization": 0.3, "named_metrics": {"queue": 4}}`:    one,
		`json {"named_metrics": {"queue": 4}, "cpu_utilization": 0.3}`:    one,
		`{"cpu_utilization":0.3,"named_metrics":{"queue":4},"a":"b"}`:     one,
		`{"cpu_utilization":0.3,"note":null,"named_metrics":{"queue":4}}`: one,
		"TEXT named_metrics.kv_cache_usage_perc=0.4":                      {"named_metrics.kv_cache_usage_perc": 0.4},
		"TEXT a=1e999": {"a": math.Inf(1)},
		"":             {},
		"{}":           {},
	} {
		got, err := parsed(header)
		require.NoError(t, err, header)
		assert.Equal(t, want, got, header)
	}
	for _, header := range []string{
		"TEXT", "BIN abc", "TEXT a", "TEXT =1", "TEXT a=", "TEXT a=b", "a=1,,b=2", "JSON", "JSON [1]", "JSON {", `{"a":1`, `{"a":[1]}`, `{"a"}`,
		"TEXT a=1" + strings.Repeat(" ", MaxLength),
	} {
		_, err := parsed(header)
		assert.Error(t, err, header)
	}
}

func TestAppendText(t *testing.T) {
	text := string(AppendText(AppendText(nil, "a", 2), "named_metrics.b", 0.25))
	assert.Equal(t, "TEXT a=2,named_metrics.b=0.25", text)
}

// What is written is read again; nothing that is read panics or gives an empty name
// outside JSON.
func FuzzParse(f *testing.F) {
	f.Add("TEXT a=1,b:2", 1.5)
	f.Add(`JSON {"a":{"b":{"c":1}},"d":2}`, -3.0)
	f.Add("{}}", 1e300)
	f.Fuzz(func(t *testing.T, header string, value float64) {
		_ = Parse(header, func(string, float64) {})
		if math.IsNaN(value) {
			return
		}
		got, err := parsed(string(AppendText(nil, "x", value)))
		require.NoError(t, err)
		if !math.IsInf(value, 0) && math.Abs(value) < 1e300 {
			assert.InEpsilon(t, 1+math.Abs(value), 1+math.Abs(got["x"]), 1e-5)
		}
	})
}
