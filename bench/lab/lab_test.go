package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
