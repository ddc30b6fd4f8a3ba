// Package orca reads and writes the load reports of ORCA (Open Request Cost Aggregation)
// as HTTP carries them, in the response header endpoint-load-metrics.
//
// The text form is a list of NAME=NUMBER, the JSON form an object; a word in front says
// which: TEXT or JSON. Senders differ: Envoy separates a name from its number by a colon,
// some leave the word out or write it in small letters. All of these are read.
package orca

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Header is the name of the header in its canonical form.
const Header = "Endpoint-Load-Metrics"

// MaxLength is the most bytes of a header that are read.
const MaxLength = 4096

var (
	errLong = errors.New("orca: the report is too long")
	errForm = errors.New("orca: the report is no list of NAME=NUMBER and no JSON object")
)

// Parse calls each for every metric in a header, in the order of the text; a member of an
// object is named with the object's name and a dot in front, as in named_metrics.queue.
// Numbers are finite or not, as they stand there. After an error some may have been given.
// What is in a JSON object and is no number is passed over.
func Parse(header string, each func(name string, value float64)) error {
	if len(header) > MaxLength {
		return errLong
	}
	text := strings.TrimSpace(header)
	if word, rest, ok := strings.Cut(text, " "); ok && !strings.ContainsAny(word, "=:{") {
		switch {
		case strings.EqualFold(word, "TEXT"):
			return parseText(rest, each)
		case strings.EqualFold(word, "JSON"):
			return parseJSON(rest, each)
		}
		return errForm
	}
	if strings.HasPrefix(text, "{") {
		return parseJSON(text, each)
	}
	return parseText(text, each)
}

func parseText(text string, each func(string, float64)) error {
	for text != "" {
		var item string
		item, text, _ = strings.Cut(text, ",")
		at := strings.IndexAny(item, "=:")
		if at < 0 {
			return errForm
		}
		name := strings.TrimSpace(item[:at])
		value, err := strconv.ParseFloat(strings.TrimSpace(item[at+1:]), 64)
		if name == "" || err != nil && !errors.Is(err, strconv.ErrRange) {
			return errForm
		}
		each(name, value)
	}
	return nil
}

func parseJSON(text string, each func(string, float64)) error {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errForm
	}
	var path []string
	name := ""
	for depth, key := 1, true; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return errForm
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				path, depth, key = append(path, name), depth+1, true
			case '}':
				if depth--; len(path) > 0 {
					path = path[:len(path)-1]
				}
				key = true
			default:
				return errForm // no report has lists
			}
			continue
		case string:
			if key {
				name, key = t, false
				continue
			}
		case float64:
			each(strings.Join(append(path, name), "."), t)
		}
		key = true
	}
	return nil
}

// AppendText appends a metric to a header in the text form, and the word in front if
// header is empty. The number has at most six digits.
func AppendText(header []byte, name string, value float64) []byte {
	if len(header) == 0 {
		header = append(header, "TEXT "...)
	} else {
		header = append(header, ',')
	}
	header = append(header, name...)
	header = append(header, '=')
	return strconv.AppendFloat(header, value, 'g', 6, 64)
}
