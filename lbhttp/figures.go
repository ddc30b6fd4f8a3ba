package lbhttp

import "sync/atomic"

// Stats is what a Transport has done since it was made. What is known of each
// backend is in the pool's statistics, and [Config.OnAttempt] tells of each attempt.
type Stats struct {
	// Requests is the number of requests that a lease was asked for.
	Requests uint64

	// Attempts is the number of attempts at them, the first ones included.
	Attempts uint64

	// Retries is how many attempts were made because another one had failed, by how it
	// had failed. Reasons that have not occurred are absent.
	Retries map[Reason]uint64

	// OverBudget is how many retries the budget of Retry has refused.
	OverBudget uint64

	// Hedges is how many hedges were sent, HedgesWon how many of them brought the
	// response, and HedgesOverBudget how many the budget of Hedge has refused.
	Hedges, HedgesWon, HedgesOverBudget uint64
}

// figures is what is counted for Stats beside the budget's count of requests. The
// first attempts are all requests less those that got no lease, so that a request
// which goes well counts nothing here.
type figures struct {
	unleased                            atomic.Uint64
	overBudget                          atomic.Uint64
	hedges, hedgesWon, hedgesOverBudget atomic.Uint64
	retries                             [len(retryReasons)]atomic.Uint64
}

// retryReasons are the reasons of retries, in the order of figures.retries.
var retryReasons = [...]Reason{ReasonUnsent, ReasonRefused, ReasonStatus, ReasonTimeout, ReasonBroken}

func (f *figures) retried(why Reason) {
	for i, r := range retryReasons {
		if r == why {
			f.retries[i].Add(1)
		}
	}
}

// stats returns the figures of so many requests.
func (f *figures) stats(requests uint64) Stats {
	s := Stats{Requests: requests, OverBudget: f.overBudget.Load(), Retries: map[Reason]uint64{},
		Hedges: f.hedges.Load(), HedgesWon: f.hedgesWon.Load(), HedgesOverBudget: f.hedgesOverBudget.Load()}
	s.Attempts = s.Requests - min(f.unleased.Load(), s.Requests) + s.Hedges
	for i, r := range retryReasons {
		if n := f.retries[i].Load(); n > 0 {
			s.Retries[r] = n
			s.Attempts += n
		}
	}
	return s
}
