package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// recording is the requests of a trace in the order in which they arrived, in
// seconds.
type recording struct{ times, durations []float64 }

// The names of a trace's columns and keys.
const (
	timeKey     = "time"
	durationKey = "duration"
)

// readTrace reads a trace: CSV, or one JSON object a line. Every error names the
// file, and one about a line its number.
func readTrace(name string) (*recording, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	rec := &recording{}
	if first := bytes.TrimSpace(text); len(first) > 0 && first[0] == '{' {
		err = rec.readJSON(bytes.NewReader(text))
	} else {
		err = rec.readCSV(bytes.NewReader(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %w", name, err)
	}
	if len(rec.times) == 0 {
		return nil, fmt.Errorf("%s holds no request", name)
	}
	sort.Stable(rec)
	return rec, nil
}

// Len, Less and Swap implement sort.Interface: by time.
func (r *recording) Len() int           { return len(r.times) }
func (r *recording) Less(i, j int) bool { return r.times[i] < r.times[j] }
func (r *recording) Swap(i, j int) {
	r.times[i], r.times[j] = r.times[j], r.times[i]
	r.durations[i], r.durations[j] = r.durations[j], r.durations[i]
}

// add takes one request, as the texts of its time and its duration.
func (r *recording) add(line int, at, took string) error {
	t, err := parseMoment(at)
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	d, err := parseDuration(took)
	if err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	r.times, r.durations = append(r.times, t), append(r.durations, d)
	return nil
}

// parseMoment reads a number of seconds or a date.
func parseMoment(text string) (float64, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return v, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return 0, fmt.Errorf("the time %q is neither a number of seconds nor a date such as 2026-11-30T08:00:00.25Z", text)
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, nil
}

// parseDuration reads a number of seconds, or a number with its unit.
func parseDuration(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		var d time.Duration
		d, err = time.ParseDuration(text)
		v = d.Seconds()
	}
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("the duration %q is neither a number of seconds of 0 or more nor one with its unit, as in 12.5ms", text)
	}
	return v, nil
}

func (r *recording) readCSV(from io.Reader) error {
	lines := csv.NewReader(from)
	lines.Comment, lines.TrimLeadingSpace, lines.ReuseRecord = '#', true, true
	at, took := -1, -1 // the columns
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			return fmt.Errorf("line %d: %w", syntax.Line, syntax.Err)
		}
		if err != nil {
			return err
		}
		line, _ := lines.FieldPos(0)
		if at < 0 {
			var isHead bool
			if at, took, isHead, err = columns(fields); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			if isHead {
				continue
			}
		}
		if err := r.add(line, strings.TrimSpace(fields[at]), strings.TrimSpace(fields[took])); err != nil {
			return err
		}
	}
}

// columns finds the columns of time and duration by the first record, which is a
// head if it names one of them.
func columns(first []string) (at, took int, isHead bool, err error) {
	find := func(name string) int {
		return slices.IndexFunc(first, func(s string) bool { return strings.EqualFold(strings.TrimSpace(s), name) })
	}
	at, took = find(timeKey), find(durationKey)
	switch {
	case at >= 0 && took >= 0:
		return at, took, true, nil
	case at < 0 && took < 0 && len(first) >= 2:
		return 0, 1, false, nil
	}
	missing := timeKey
	if took < 0 {
		missing = durationKey
	}
	return -1, -1, false, fmt.Errorf("there is no column %q in %q", missing, strings.Join(first, ","))
}

func (r *recording) readJSON(from io.Reader) error {
	s := bufio.NewScanner(from)
	s.Buffer(nil, 1<<20)
	line := 0
	for s.Scan() {
		line++
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			return fmt.Errorf("line %d: it is no JSON object: %w", line, err)
		}
		var values [2]string
		for i, key := range []string{timeKey, durationKey} {
			raw, ok := object[key]
			if !ok {
				return fmt.Errorf("line %d: there is no key %q", line, key)
			}
			if json.Unmarshal(raw, &values[i]) != nil { // no string: as it stands
				values[i] = string(raw)
			}
		}
		if err := r.add(line, values[0], values[1]); err != nil {
			return err
		}
	}
	if s.Err() != nil {
		return fmt.Errorf("line %d: %w", line+1, s.Err())
	}
	return nil
}
