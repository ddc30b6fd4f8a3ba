package main

import (
	"fmt"
	"io"
	"math"
	"time"
)

// report prints the table, and what to see in it.
func report(out io.Writer, results []result, servers *fleet) {
	if len(results) == 0 {
		fmt.Fprintln(out, "No request was answered.")
		return
	}
	fmt.Fprintf(out, "\n%-12s%16s%10s%10s%10s%12s\n", "policy", "to slow server", "seconds", "p50", "p99", "requests/s")
	for _, r := range results {
		fmt.Fprintf(out, "%-12s%16s%10.1f%10s%10s%12.1f%s\n", r.policy, percent(r.share(servers.slow)), r.took.Seconds(),
			millis(quantile(r.times, 0.50)), millis(quantile(r.times, 0.99)), r.rate(), r.remark())
	}
	fmt.Fprintln(out)
	for _, line := range reading(results, servers) {
		fmt.Fprintln(out, line)
	}
}

// share is the part of the requests that a server was sent.
func (r *result) share(server string) float64 {
	total := 0
	for _, n := range r.sent {
		total += n
	}
	if total == 0 {
		return 0
	}
	return float64(r.sent[server]) / float64(total)
}

// rate is the number of answers per second.
func (r *result) rate() float64 {
	if r.took <= 0 {
		return 0
	}
	return float64(len(r.times)) / r.took.Seconds()
}

func (r *result) remark() string {
	s := ""
	if r.finished() < r.asked {
		s += fmt.Sprintf("   stopped at %d of %d", r.finished(), r.asked)
	}
	if r.failed > 0 {
		s += fmt.Sprintf("   %d failed", r.failed)
	}
	return s
}

// quantile returns the shortest time that a share q of the times does not
// exceed. The times are in ascending order; of none it is 0.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(times))))
	return times[min(max(rank, 1), len(times))-1]
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func millis(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

// clearlySlower: a run that took less than this times another was about as fast.
const clearlySlower = 1.2

// reading says in two lines what the table shows.
func reading(results []result, servers *fleet) []string {
	worst, best := results[0], results[0]
	for _, r := range results {
		if r.finished() < r.asked {
			continue // its seconds compare with nothing
		}
		if worst.finished() < worst.asked || r.took > worst.took {
			worst = r
		}
		if best.finished() < best.asked || r.took < best.took {
			best = r
		}
	}
	slow := servers.slow
	fair := percent(1 / float64(len(servers.urls)))
	switch {
	case worst.policy == best.policy:
		lines := []string{
			fmt.Sprintf("%s sent the slow server %s of the requests; an equal share would be %s.", best.policy, percent(best.share(slow)), fair),
		}
		if best.finished() == best.asked { // else it was stopped, whatever was to come
			lines = append(lines, "Run a second policy beside it to compare: leave -policies out, or name several.")
		}
		return lines
	case worst.took.Seconds() < clearlySlower*best.took.Seconds(), best.share(slow) > worst.share(slow):
		// With more calls to the slow server the time was saved by something else.
		return []string{
			fmt.Sprintf("The policies took about the same time, or not because of the slow server: it is not slow enough, or not busy enough, to hold the others up (an equal share is %s).", fair),
			"More -workers, or a slower server, will set them apart.",
		}
	}
	seeing := fmt.Sprintf("%s saw its queue and sent it %s: done %.1f times sooner, with a p99 of %s.", best.policy,
		percent(best.share(slow)), worst.took.Seconds()/best.took.Seconds(), millis(quantile(best.times, 0.99)))
	if quantile(best.times, 0.50) > quantile(worst.times, 0.50) {
		seeing += " (Its p50 is higher because it keeps every server busy.)"
	}
	return []string{
		fmt.Sprintf("%s sent the slow server %s of the requests and had to wait for it: %.1f s in all, with a p99 of %s.", worst.policy,
			percent(worst.share(slow)), worst.took.Seconds(), millis(quantile(worst.times, 0.99))),
		seeing,
	}
}
