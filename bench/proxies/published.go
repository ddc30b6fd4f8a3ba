package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed published.json
var publishedFile []byte

// published are the figures of the two documents.
type published struct {
	Nginx struct {
		Requests int `json:"requests"`
		Clients  int `json:"clients"`
		Rows     []struct {
			Method  string  `json:"method"`
			Share   float64 `json:"slow_share"`
			Seconds float64 `json:"seconds"`
			P50     float64 `json:"p50_ms"`
			P99     float64 `json:"p99_ms"`
		} `json:"rows"`
	} `json:"nginx"`
	Lighty struct {
		Requests int                `json:"requests"`
		Clients  int                `json:"clients"`
		Alone    map[string]float64 `json:"alone_rps"`
		Rows     []struct {
			Policy string  `json:"policy"`
			Rate   float64 `json:"rps"`
			Slow   int     `json:"requests_22"`
			Fast   int     `json:"requests_25"`
		} `json:"rows"`
	} `json:"lighty"`
}

func readPublished() (published, error) {
	var p published
	if err := json.Unmarshal(publishedFile, &p); err != nil {
		return p, fmt.Errorf("published.json: %w", err)
	}
	return p, nil
}

// figures are one published row, whichever of them its document has.
type figures struct {
	Share   float64 `json:"slow_share"`
	Seconds float64 `json:"seconds,omitempty"`
	P50     float64 `json:"p50_ms,omitempty"`
	P99     float64 `json:"p99_ms,omitempty"`
	Rate    float64 `json:"requests_per_second,omitempty"`
	OfSum   float64 `json:"of_the_sum,omitempty"` // the rate, over that of both servers together
}

// slow returns the published figures of a method of nginx before one slow server,
// nil if there are none for so many requests.
func (p published) slow(method string, requests int) *figures {
	if requests != p.Nginx.Requests {
		return nil
	}
	for _, r := range p.Nginx.Rows {
		if r.Method == method {
			return &figures{Share: r.Share, Seconds: r.Seconds, P50: r.P50, P99: r.P99}
		}
	}
	return nil
}

// capacity returns the published figures of a policy of lighttpd 1.5 before two
// servers.
func (p published) capacity(policy string) *figures {
	for _, r := range p.Lighty.Rows {
		if r.Policy == policy {
			return p.rate(r.Rate, float64(r.Slow)/float64(r.Slow+r.Fast))
		}
	}
	return nil
}

// The two servers of lighttpd's benchmark, as it calls them.
const fastServer, slowServer = "25", "22"

// rate are the figures of a published rate before the two servers.
func (p published) rate(perSecond, slowShare float64) *figures {
	sum := p.Lighty.Alone[fastServer] + p.Lighty.Alone[slowServer]
	return &figures{Share: slowShare, Rate: perSecond, OfSum: perSecond / sum}
}
