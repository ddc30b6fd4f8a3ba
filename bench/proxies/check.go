package main

import (
	"fmt"
	"math"
	"slices"
)

// A verdict is one thing that -check looks at.
type verdict struct {
	What string `json:"what"` // with the tolerance
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// Tolerances of -check. Servers that are exact leave little noise in seconds and
// shares; the p99 of a method that draws at random varies from run to run.
const (
	equalShare      = 0.02 // round robin: either side of the equal share
	leastAware      = 0.06 // load-aware: the slow server's share of step slow
	mostAware       = 0.12
	mostDraws       = 0.22 // the same where both draws can be the slow server
	secondsNoise    = 1.05 // as good as the best proxy: at most this times its time
	p99Noise        = 1.10
	p99NoiseDrawn   = 1.25 // between methods that draw at random
	luck            = 2    // in a short run of these: so many requests more at the slow server
	roundRobinRate  = 2    // round robin before two servers: this times the slow one's rate
	rateNoise       = 0.15 // of that
	capacityShare   = 0.05 // shortest queue: either side of the share of the capacity
	awareAdvantage  = 1.25 // shortest queue makes at least this times what round robin does
	capacityAsGood  = 0.90 // as good as the best proxy: at least this times its rate
	publishedNearly = 9    // per cent: what the tutorial published for load-aware methods
)

// judge looks at the rows of a contest.
func judge(r result) []verdict {
	if r.Step == stepCapacity {
		return judgeCapacity(r)
	}
	return judgeSlow(r)
}

func judgeSlow(r result) []verdict {
	var all []verdict
	add := func(ok bool, got, what string, args ...any) {
		all = append(all, verdict{What: thousands(float64(r.Requests)) + " requests: " + fmt.Sprintf(what, args...), Got: got, OK: ok})
	}
	fair := 1 / float64(len(r.Services))
	oneSlow := r.Services[len(r.Services)-1]
	for _, row := range r.Rows {
		share := row.Median.slow()
		switch row.Kind {
		case roundRobin:
			add(math.Abs(share-fair) <= equalShare, percent(share), "%s sends the slow server %s, within %.0f points", row.name(), percent(fair), 100*equalShare)
		case loadAware, twoChoices, twoDraws:
			most, chance := mostAware, luck/float64(r.Requests)
			switch row.Kind {
			case twoChoices:
				most += chance
			case twoDraws:
				most = mostDraws + chance
			}
			add(share >= leastAware && share <= most, percent(share), "%s sends the slow server about %d %%: %.0f to %.1f", row.name(), publishedNearly, 100*leastAware, 100*most)
		}
	}
	// Evenkeel against the best of the proxies: its scan against all that they
	// have, its two choices against theirs.
	for _, row := range r.Rows {
		if !ours(row) || row.Kind == roundRobin {
			continue
		}
		// One request more at the slow server is chance, and the last one may be there.
		rivals, later, p99Later := r.rivals(), oneSlow, p99Noise
		if row.Kind == twoChoices {
			rivals, later, p99Later = r.rivals(twoChoices, twoDraws), luck*oneSlow, p99NoiseDrawn
		}
		if best, ok := least(rivals, func(r run) float64 { return r.Seconds }); ok {
			limit := max(secondsNoise*best.Median.Seconds, best.Median.Seconds+later)
			add(row.Median.Seconds <= limit, seconds(row.Median.Seconds),
				"%s is done in %.2f s, as soon as the best proxy (%s: %s) within noise", row.name(), limit, best.name(), seconds(best.Median.Seconds))
		}
		if best, ok := least(rivals, func(r run) float64 { return r.P99 }); ok {
			limit := p99Later * best.Median.P99
			add(row.Median.P99 <= limit, ms(row.Median.P99),
				"%s has a p99 of at most %s, that of the best proxy (%s: %s) within noise", row.name(), ms(limit), best.name(), ms(best.Median.P99))
		}
	}
	return all
}

func judgeCapacity(r result) []verdict {
	var all []verdict
	add := func(ok bool, got, what string, args ...any) {
		all = append(all, verdict{What: "two speeds: " + fmt.Sprintf(what, args...), Got: got, OK: ok})
	}
	fast, slow := 1/r.Services[0], 1/r.Services[1]
	byTurns := map[string]float64{} // the rate of round robin, by who
	for _, row := range r.Rows {
		share := row.Median.slow()
		switch row.Kind {
		case roundRobin:
			byTurns[row.Who] = row.rate()
			add(math.Abs(share-0.5) <= equalShare, percent(share), "%s sends the slow server half, within %.0f points", row.name(), 100*equalShare)
			limit := roundRobinRate * slow
			add(math.Abs(row.rate()-limit) <= rateNoise*limit, rate(row.rate()), "%s makes twice the rate of the slow server, %s, within %.0f %%", row.name(), rate(limit), 100*rateNoise)
		case loadAware:
			want := slow / (slow + fast)
			add(math.Abs(share-want) <= capacityShare, percent(share), "%s sends the slow server its share of the capacity, %s, within %.0f points", row.name(), percent(want), 100*capacityShare)
			if turns, ok := byTurns[row.Who]; ok {
				add(row.rate() >= awareAdvantage*turns, rate(row.rate()), "%s makes at least %.2f times the rate of round robin (%s)", row.name(), awareAdvantage, rate(turns))
			}
		}
	}
	if best, ok := least(r.rivals(), func(r run) float64 { return r.Seconds }); ok {
		for _, row := range r.Rows {
			if ours(row) && row.Kind == loadAware {
				add(row.rate() >= capacityAsGood*best.rate(), rate(row.rate()), "%s makes at least %.0f %% of the best proxy's rate (%s: %s)", row.name(), 100*capacityAsGood, best.name(), rate(best.rate()))
			}
		}
	}
	return all
}

func ours(r row) bool { return r.Who == inTheClient || r.Who == asAProxy }

// rivals are the rows of proxies of these kinds, or of all if none is named.
func (r result) rivals(kinds ...kind) []row {
	var rows []row
	for _, row := range r.Rows {
		if !ours(row) && row.Kind != alone && (len(kinds) == 0 || slices.Contains(kinds, row.Kind)) {
			rows = append(rows, row)
		}
	}
	return rows
}

// least is the row with the least figure; false: there are no rows.
func least(rows []row, figure func(run) float64) (best row, ok bool) {
	for i, r := range rows {
		if i == 0 || figure(r.Median) < figure(best.Median) {
			best = r
		}
	}
	return best, len(rows) > 0
}
