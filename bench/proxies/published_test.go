package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The figures are those that the lab compares with.
func TestPublishedIsAnExcerptOfTheLabs(t *testing.T) {
	text, err := os.ReadFile("../lab/testdata/published.json")
	require.NoError(t, err)
	var all, excerpt map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	require.NoError(t, json.Unmarshal(publishedFile, &excerpt))
	require.NotEmpty(t, excerpt)
	for key, value := range excerpt {
		assert.Equal(t, all[key], value, key)
	}
}

func TestPublishedFigures(t *testing.T) {
	p, err := readPublished()
	require.NoError(t, err)
	assert.Equal(t, &figures{Share: 0.09, Seconds: 3.6, P50: 206, P99: 819}, p.slow("least_conn", 200))
	assert.Nil(t, p.slow("least_conn", 5000), "published for 200 requests only")
	assert.Nil(t, p.slow("leastconn", 200))
	require.NotNil(t, p.capacity("sqf"))
	assert.InDelta(t, 0.3097, p.capacity("sqf").Share, 1e-4)
	assert.InDelta(t, 3213/4083.05, p.capacity("sqf").OfSum, 1e-6)
	assert.Nil(t, p.capacity("p2c"))

	services := capacityServices(p, 1)
	assert.InDelta(t, 2833.6, 1/services[0].Seconds(), 0.1)
	assert.InDelta(t, 1249.45, 1/services[1].Seconds(), 0.1)
	services = capacityServices(p, 0.1)
	assert.InDelta(t, 283.36, 1/services[0].Seconds(), 0.01)
}
