package status

import (
	"time"

	"github.com/evenkeel-go/evenkeel"
)

// poolView is one pool at one moment: what the page and the JSON show.
type poolView struct {
	Index    int                `json:"-"`
	Stats    evenkeel.PoolStats `json:"stats"`
	Backends []backendView      `json:"backends"`
	Events   []eventView        `json:"events"`
	Control  bool               `json:"-"`
}

type backendView struct {
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Since     time.Time `json:"since,omitzero"` // zero: since before the handler was made
	Until     time.Time `json:"until,omitzero"`
	Cause     string    `json:"cause,omitempty"`
	Used      bool      `json:"used"`
	Weight    float64   `json:"weight"`
	Tier      int       `json:"tier"`
	SlowStart float64   `json:"slow_start_share"`
	InFlight  int       `json:"in_flight"`
	Penalty   int       `json:"penalty"`
	Load      float64   `json:"load"`
	Calls     uint64    `json:"calls"`
	Percent   float64   `json:"calls_percent"` // of the calls of all members
	Failures  uint64    `json:"failures"`
	Failed    float64   `json:"failed_percent"` // of the calls that were judged
	Ejections int       `json:"ejections"`
	Most      int       `json:"-"` // in flight on any member: the full length of the bar
	Class     string    `json:"-"`
}

type eventView struct {
	At      time.Time `json:"at"`
	Backend string    `json:"backend,omitempty"`
	Text    string    `json:"text"`
	Cause   string    `json:"cause,omitempty"`
}

func look(s Source, h *history, cause func(error) string) poolView {
	v := poolView{Stats: s.stats(), Backends: []backendView{}, Events: []eventView{}}
	calls, most := uint64(0), 1
	rows := s.members()
	for _, r := range rows {
		calls += r.Stats.Calls
		most = max(most, r.Stats.InFlight)
	}
	for _, r := range rows {
		s := r.Stats
		v.Backends = append(v.Backends, backendView{
			Name: r.Name, State: s.State.String(), Since: h.sinceOf(r.Name), Until: s.Until, Cause: cause(s.Cause), Used: s.Used,
			Weight: s.Weight, Tier: s.Tier, SlowStart: s.Share, InFlight: s.InFlight, Penalty: s.Penalty, Load: s.Load,
			Calls: s.Calls, Percent: percent(s.Calls, calls), Failures: s.Failures, Failed: percent(s.Failures, s.Successes+s.Failures),
			Ejections: s.Ejections, Most: most, Class: classOf(s.State),
		})
	}
	for _, e := range h.last() {
		ev := eventView{At: e.At, Text: e.Text, Cause: cause(e.Cause)}
		if e.Kind == evenkeel.EventState {
			ev.Backend, ev.Text = nameOf(e.Backend), e.From.String()+" → "+e.To.String()
		} else if ev.Text == "" {
			ev.Text = e.Kind.String()
		}
		v.Events = append(v.Events, ev)
	}
	return v
}

func percent(part, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(part) / float64(all)
}

// classOf is the style of a state: its text says the same to those who see no colour.
func classOf(s evenkeel.State) string {
	switch s {
	case evenkeel.StateActive:
		return "good"
	case evenkeel.StateEjectedByOutcome, evenkeel.StateEjectedByHealth, evenkeel.StateEjectedByHand:
		return "bad"
	default:
		return "between"
	}
}
