package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// record is a row as -json and -csv give it. A figure that the step does not have
// is null, or empty.
type record struct {
	Step      string             `json:"step"`
	Row       string             `json:"row"`
	Policy    string             `json:"policy"`
	Inputs    map[string]any     `json:"inputs"`
	Seeds     int                `json:"seeds"`
	Mean      *float64           `json:"mean"`
	P50       *float64           `json:"p50"`
	P99       *float64           `json:"p99"`
	P999      *float64           `json:"p999"`
	Peak      *float64           `json:"peak"`
	Share0    *float64           `json:"share0"`
	Measures  map[string]float64 `json:"measures"`  // the row as the table has it
	Published map[string]float64 `json:"published"` // by the names of Measures
	Allowed   map[string]float64 `json:"allowed"`   // differences to Published; a figure without one is not checked
}

func recordOf(t *table, r *row) record {
	rec := record{
		Step: t.step, Row: r.label, Policy: r.policy,
		Inputs: map[string]any{}, Measures: map[string]float64{}, Published: map[string]float64{}, Allowed: map[string]float64{},
	}
	for _, in := range r.inputs {
		rec.Inputs[in.name] = in.value
	}
	for _, m := range r.measures {
		rec.Measures[m.name] = m.value
		if m.compared() {
			rec.Published[m.name] = m.published
		}
		if m.checked() {
			rec.Allowed[m.name] = m.tolerance
		}
	}
	if r.runs != nil {
		rec.Seeds = len(r.runs.results)
		most := r.runs.sample(peak)
		figures := []float64{
			r.runs.sample(mean).mean(), r.runs.sample(p50).mean(), r.runs.sample(p99).mean(), r.runs.sample(p999).mean(),
			most.firstMax(len(most)), r.runs.sample(share0).mean(),
		}
		rec.Mean, rec.P50, rec.P99 = &figures[0], &figures[1], &figures[2]
		rec.P999, rec.Peak, rec.Share0 = &figures[3], &figures[4], &figures[5]
	}
	return rec
}

// printer writes one table in one format.
type printer interface {
	print(t *table) error
}

type textPrinter struct {
	w     io.Writer
	check bool // show what is allowed
}

func (p textPrinter) print(t *table) error {
	t.print(p.w, p.check)
	return nil
}

type jsonPrinter struct{ w io.Writer }

func (p jsonPrinter) print(t *table) error {
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	for i := range t.rows {
		if err := e.Encode(recordOf(t, &t.rows[i])); err != nil {
			return err
		}
	}
	return nil
}

type csvPrinter struct {
	w      *csv.Writer
	headed bool
}

func (p *csvPrinter) print(t *table) error {
	if !p.headed {
		p.headed = true
		_ = p.w.Write(strings.Split("step,row,policy,inputs,seeds,mean,p50,p99,p999,peak,share0,measures,published,allowed", ","))
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for i := range t.rows {
		r := &t.rows[i]
		rec := recordOf(t, r)
		var inputs, measures, published, allowed []string
		for _, in := range r.inputs {
			inputs = append(inputs, fmt.Sprintf("%s=%v", in.name, in.value))
		}
		for _, m := range r.measures {
			measures = append(measures, fmt.Sprintf("%s=%v", m.name, m.value))
			if m.compared() {
				published = append(published, fmt.Sprintf("%s=%v", m.name, m.published))
			}
			if m.checked() {
				allowed = append(allowed, fmt.Sprintf("%s=%v", m.name, m.tolerance))
			}
		}
		_ = p.w.Write([]string{
			rec.Step, rec.Row, rec.Policy, strings.Join(inputs, ";"), strconv.Itoa(rec.Seeds),
			number(rec.Mean), number(rec.P50), number(rec.P99), number(rec.P999), number(rec.Peak), number(rec.Share0),
			strings.Join(measures, ";"), strings.Join(published, ";"), strings.Join(allowed, ";"),
		})
	}
	p.w.Flush()
	return p.w.Error()
}
