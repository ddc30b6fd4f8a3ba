package evenkeel

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"time"
)

// How the vocabulary reads outside the program: as text, as JSON, in a log.

// MarshalText returns the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error { return named(s, stateNames[:], text) }

// MarshalText returns the kind's name.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *EventKind) UnmarshalText(text []byte) error { return named(k, kindNames[:], text) }

// MarshalText returns the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads an outcome's name.
func (o *Outcome) UnmarshalText(text []byte) error { return named(o, outcomeNames[:], text) }

// MarshalText returns the reason's name.
func (r ShedReason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a reason's name.
func (r *ShedReason) UnmarshalText(text []byte) error { return named(r, shedNames[:], text) }

func named[V ~int](v *V, names []string, text []byte) error {
	for i, name := range names {
		if name == string(text) {
			*v = V(i)
			return nil
		}
	}
	return fmt.Errorf("evenkeel: %q is none of %q", text, names)
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// MarshalJSON gives the event's fields in lower case, errors as their text, and leaves
// out what does not belong to its kind.
func (e Event) MarshalJSON() ([]byte, error) {
	out := struct {
		Kind    EventKind `json:"kind"`
		Pool    string    `json:"pool,omitempty"`
		At      time.Time `json:"at"`
		Backend any       `json:"backend,omitempty"`
		From    *State    `json:"from,omitempty"`
		To      *State    `json:"to,omitempty"`
		Until   time.Time `json:"until,omitzero"`
		Cause   string    `json:"cause,omitempty"`
		Text    string    `json:"text,omitempty"`
	}{Kind: e.Kind, Pool: e.Pool, At: e.At, Backend: e.Backend, Until: e.Until, Cause: textOf(e.Cause), Text: e.Text}
	if e.Kind == EventState {
		out.From, out.To = &e.From, &e.To
	}
	return json.Marshal(out)
}

// LogValue gives what MarshalJSON gives, but for the time, which a log has by itself.
func (e Event) LogValue() slog.Value {
	var a attrs
	a.add("kind", e.Kind.String())
	a.text("pool", e.Pool)
	if e.Kind == EventState {
		a.add("backend", e.Backend)
		a.add("from", e.From.String())
		a.add("to", e.To.String())
	}
	a.time("until", e.Until)
	a.text("cause", textOf(e.Cause))
	a.text("text", e.Text)
	return slog.GroupValue(a...)
}

// MarshalJSON gives the fields in snake case, errors as their text, and leaves out
// times, causes and rare counts that are not there.
func (s Stats) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		State      State     `json:"state"`
		Used       bool      `json:"used"`
		InFlight   int       `json:"in_flight"`
		Penalty    int       `json:"penalty,omitempty"`
		Load       float64   `json:"load"`
		Weight     float64   `json:"weight"`
		Tier       int       `json:"tier,omitempty"`
		Share      float64   `json:"share"`
		Calls      uint64    `json:"calls"`
		Successes  uint64    `json:"successes"`
		Failures   uint64    `json:"failures"`
		Ejections  int       `json:"ejections"`
		Until      time.Time `json:"until,omitzero"`
		Cause      string    `json:"cause,omitempty"`
		LastError  string    `json:"last_error,omitempty"`
		BadSignals uint64    `json:"bad_signals,omitempty"`
		Report     *Report   `json:"report,omitempty"`
		ReportedAt time.Time `json:"reported_at,omitzero"`
		Reports    uint64    `json:"reports,omitempty"`
		BadReports uint64    `json:"bad_reports,omitempty"`
	}{
		s.State, s.Used, s.InFlight, s.Penalty, s.Load, s.Weight, s.Tier, s.Share, s.Calls, s.Successes, s.Failures,
		s.Ejections, s.Until, textOf(s.Cause), textOf(s.LastError), s.BadSignals, s.report(), s.ReportedAt, s.Reports, s.BadReports,
	})
}

func (s Stats) report() *Report {
	if s.ReportedAt.IsZero() {
		return nil
	}
	return &s.Report
}

// LogValue gives the fields that say something.
func (s Stats) LogValue() slog.Value {
	var a attrs
	a.add("state", s.State.String())
	a.add("used", s.Used)
	a.add("in_flight", s.InFlight)
	a.add("load", s.Load)
	a.add("calls", s.Calls)
	a.add("failures", s.Failures)
	a.time("until", s.Until)
	a.text("cause", textOf(s.Cause))
	return slog.GroupValue(a...)
}

// MarshalJSON gives the report's fields in snake case.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		InFlight float64 `json:"in_flight"`
	}{r.InFlight})
}

// MarshalJSON gives the fields in snake case.
func (s PoolStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name     string       `json:"name,omitempty"`
		Members  int          `json:"members"`
		Usable   int          `json:"usable"`
		InFlight int          `json:"in_flight"`
		Panic    bool         `json:"panic"`
		Backlog  BacklogStats `json:"backlog"`
	}{s.Name, s.Members, s.Usable, s.InFlight, s.Panic, s.Backlog})
}

// LogValue gives the fields as a group.
func (s PoolStats) LogValue() slog.Value {
	var a attrs
	a.text("name", s.Name)
	a.add("members", s.Members)
	a.add("usable", s.Usable)
	a.add("in_flight", s.InFlight)
	a.add("panic", s.Panic)
	a.add("backlog", s.Backlog)
	return slog.GroupValue(a...)
}

// MarshalJSON gives the fields in snake case, the wait in seconds.
func (s BacklogStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Waiting    int     `json:"waiting"`
		OldestWait float64 `json:"oldest_wait_seconds"`
		Served     uint64  `json:"served"`
		Shed       uint64  `json:"shed"`
		GaveUp     uint64  `json:"gave_up"`
	}{s.Waiting, s.OldestWait.Seconds(), s.Served, s.Shed, s.GaveUp})
}

// LogValue gives the fields as a group.
func (s BacklogStats) LogValue() slog.Value {
	var a attrs
	a.add("waiting", s.Waiting)
	a.add("oldest_wait", s.OldestWait)
	a.add("served", s.Served)
	a.add("shed", s.Shed)
	a.add("gave_up", s.GaveUp)
	return slog.GroupValue(a...)
}

// attrs collects the attributes of a log value.
type attrs []slog.Attr

func (a *attrs) add(key string, value any) { *a = append(*a, slog.Any(key, value)) }

func (a *attrs) text(key, value string) {
	if value != "" {
		a.add(key, value)
	}
}

func (a *attrs) time(key string, t time.Time) {
	if !t.IsZero() {
		a.add(key, t)
	}
}
