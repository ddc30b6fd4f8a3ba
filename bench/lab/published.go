package main

import (
	_ "embed"
	"encoding/json"
)

//go:embed testdata/published.json
var publishedJSON []byte

// publishedFigures are the figures of the two documents. Times are in units of
// the mean service time unless the name says otherwise.
type publishedFigures struct {
	Balls struct {
		N          int
		Runs       int
		Fullest    map[string][]float64
		EmptyShare map[string]float64 `json:"empty_share"`
	}
	Validate struct {
		N               int
		Warmup, Horizon float64
		Seeds           int
		Rows            []struct {
			Rho, Mean, P99 float64
			MeanFormula    float64 `json:"mean_formula"`
			P99Formula     float64 `json:"p99_formula"`
		}
	}
	Policies struct {
		N                    int
		Rho, Warmup, Horizon float64
		Seeds                int
		Rows                 []struct {
			Policy                string
			Mean, P99, P999, Peak float64
		}
		MeanField map[string]float64 `json:"mean_field"`
	}
	Tails struct {
		N             int
		Rho           float64
		Seeds         int
		ProbeEvery    int `json:"probe_every"`
		Random, P2c   []float64
		RandomFormula []float64 `json:"random_formula"`
		P2cFormula    []float64 `json:"p2c_formula"`
	}
	Stale struct {
		N     int
		Rho   float64
		Seeds int
		Rows  []struct {
			Refresh float64
			pair
		}
		Random struct{ Mean, P99 float64 }
	}
	Dispatchers struct {
		N     int
		Rho   float64
		Seeds int
		Rows  []struct {
			K int
			pair
		}
		Random struct{ Mean, P99 float64 }
	}
	Sick struct {
		N                    int
		Rho, Warmup, Horizon float64
		Seeds                int
		Speeds               []float64
		Rows                 []struct {
			Policy                 string
			Mean, P99, Peak, Share float64
		}
		HealthyP2c struct{ Mean, P99 float64 } `json:"healthy_p2c"`
	}
	Heavy struct {
		N     int
		Rho   float64
		Seeds int
		Rows  []struct {
			Policy, Metric string
			Mean, P99      float64
		}
	}
	Slowbackend struct {
		Requests   int
		RatePerS   float64 `json:"rate_per_s"`
		MeanWorkMS float64 `json:"mean_work_ms"`
		Backends   int
		Rows       []struct {
			Policy    string
			P50       float64 `json:"p50_ms"`
			P99       float64 `json:"p99_ms"`
			Max       float64 `json:"max_ms"`
			SlowShare float64 `json:"slow_share"`
		}
	}
	Mistakes struct {
		Replacement []struct {
			N               int
			Horizon         float64
			Distinct        float64
			WithReplacement float64 `json:"with_replacement"`
		}
		Ties struct {
			N           int
			Rho         float64
			Random      tiesFigures
			LowestIndex tiesFigures `json:"lowest_index"`
		}
		Leak struct {
			Backends, Requests int
			StuckFor           int         `json:"stuck_for"`
			WithRelease        leakFigures `json:"with_release"`
			Without            leakFigures
		}
	}
	Lighty struct {
		Requests, Clients int
		AloneRPS          map[string]float64 `json:"alone_rps"`
		Rows              []struct {
			Policy     string
			RPS        float64
			Requests22 float64 `json:"requests_22"`
			Requests25 float64 `json:"requests_25"`
		}
	}
}

// pair is the two policies that a table of herds compares.
type pair struct {
	SQFMean float64 `json:"sqf_mean"`
	SQFP99  float64 `json:"sqf_p99"`
	P2CMean float64 `json:"p2c_mean"`
	P2CP99  float64 `json:"p2c_p99"`
}

type tiesFigures struct{ First, Last, Mean, Peak float64 }

type leakFigures struct {
	Stuck, Recovered float64
	Left             float64 `json:"left_in_flight"`
}

func loadPublished() (*publishedFigures, error) {
	p := &publishedFigures{}
	if err := json.Unmarshal(publishedJSON, p); err != nil {
		return nil, err
	}
	return p, nil
}
