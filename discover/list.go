package discover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/internal/addr"
)

// parseList reads what a File holds.
func parseList(text []byte) (Answer[string], error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		return parseJSON(text)
	}
	var answer Answer[string]
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		m, err := parseFields(fields)
		answer.add(m, err, "line", number)
	}
	return answer, nil
}

// add puts a member into an answer that is being read, or what is wrong with it.
func (a *Answer[T]) add(m evenkeel.Member[T], err error, what string, number int) {
	if err == nil {
		err = check(m)
	}
	if err != nil {
		a.Skipped = append(a.Skipped, fmt.Errorf("%s %d: %w", what, number, err))
		return
	}
	a.Members = append(a.Members, m)
}

// parseFields reads a line.
func parseFields(fields []string) (m evenkeel.Member[string], err error) {
	m = evenkeel.Member[string]{Backend: fields[0], Weight: 1}
	if _, err := addr.Parse(m.Backend); err != nil {
		return m, err
	}
	for _, field := range fields[1:] {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "weight":
			m.Weight, err = strconv.ParseFloat(value, 64)
		case "tier":
			m.Tier, err = strconv.Atoi(value)
		default:
			err = errors.New("want weight=number or tier=number after the backend")
		}
		if err != nil {
			return m, fmt.Errorf("%q: %w", field, err)
		}
	}
	return m, nil
}

// parseJSON reads an array.
func parseJSON(text []byte) (Answer[string], error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(text, &elements); err != nil {
		return Answer[string]{}, err
	}
	var answer Answer[string]
	for i, e := range elements {
		m, err := parseElement(e)
		answer.add(m, err, "element", i)
	}
	return answer, nil
}

// parseElement reads an element of an array: a text or an object.
func parseElement(text json.RawMessage) (evenkeel.Member[string], error) {
	e := struct {
		Backend string  `json:"backend"`
		Weight  float64 `json:"weight"`
		Tier    int     `json:"tier"`
	}{Weight: 1}
	var into any = &e
	if bytes.HasPrefix(text, []byte(`"`)) {
		into = &e.Backend
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		_, err = addr.Parse(e.Backend)
	}
	return evenkeel.Member[string]{Backend: e.Backend, Weight: e.Weight, Tier: e.Tier}, err
}
