package merge

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// decoded is one element of an answer: targets, nil for null, and labels, sorted and unique. It shares the bytes of the
// answer, and read can reuse it.
type decoded struct {
	targets [][]byte
	labels  []label
}

// read decodes an element, which must be valid JSON, as encoding/json would: keys match in any case, and the last of
// equal keys counts. It refuses unknown fields and values of the wrong type.
func (d *decoded) read(raw []byte) *rejection {
	if raw[0] != '{' {
		return rejectf(ReasonMalformed, "not an object")
	}
	if !utf8.Valid(raw) {
		return rejectf(ReasonMalformed, "not UTF-8")
	}
	d.targets, d.labels = d.targets[:0], d.labels[:0]
	for key, value := range members(raw) {
		name, ok := unquote(key), false
		switch {
		case bytes.EqualFold(name, []byte("targets")):
			ok = d.readTargets(value)
		case bytes.EqualFold(name, []byte("labels")):
			ok = d.readLabels(value)
		default:
			return rejectf(ReasonMalformed, "unknown field %q", name)
		}
		if !ok {
			return rejectf(ReasonMalformed, "%s has the wrong type", key)
		}
	}
	sortLabels(d.labels)
	d.labels = lastOfEach(d.labels)
	if slices.ContainsFunc(d.labels, func(l label) bool { return l.value == nil }) {
		return rejectf(ReasonMalformed, "a label is null")
	}
	return nil
}

// readTargets reads a list of strings and nulls. It returns false if raw is anything else.
func (d *decoded) readTargets(raw []byte) bool {
	d.targets = d.targets[:0]
	if raw[0] != '[' {
		return raw[0] == 'n'
	}
	for _, target := range members(raw) {
		if !isStringOrNull(target) {
			return false
		}
		d.targets = append(d.targets, unquote(target))
	}
	return true
}

// readLabels reads a map to strings and nulls. It returns false if raw is anything else.
func (d *decoded) readLabels(raw []byte) bool {
	if raw[0] != '{' {
		d.labels = d.labels[:0]
		return raw[0] == 'n'
	}
	for name, value := range members(raw) {
		if !isStringOrNull(value) {
			return false
		}
		d.labels = append(d.labels, label{unquote(name), unquote(value)})
	}
	return true
}

// members iterates over the members of an object, or over the elements of a list with nil keys. raw must be valid JSON.
func members(raw []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		s := scanner{text: raw, at: 1}
		for first := true; ; first = false {
			if more, ok := s.more(first, raw[0]+2); !more || !ok {
				return
			}
			var key []byte
			if raw[0] == '{' {
				key, _ = s.key()
			}
			if value, ok := s.raw(); !ok || !yield(key, value) {
				return
			}
		}
	}
}

// isStringOrNull reports whether a JSON value is a string or null.
func isStringOrNull(raw []byte) bool { return raw[0] == '"' || raw[0] == 'n' }

// unquote returns the value of a JSON string, or nil for null.
func unquote(raw []byte) []byte {
	if raw[0] == 'n' {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var text string // This is rare: agents escape only some characters in URLs.
	_ = json.Unmarshal(raw, &text)
	return []byte(text)
}

// sortLabels sorts labels by name. Labels of one name keep their order.
func sortLabels(labels []label) {
	slices.SortStableFunc(labels, func(a, b label) int { return bytes.Compare(a.name, b.name) })
}

// lastOfEach keeps the last label of each name. The labels must be sorted.
func lastOfEach(labels []label) []label {
	kept := labels[:0]
	for i, l := range labels {
		if i+1 == len(labels) || !bytes.Equal(l.name, labels[i+1].name) {
			kept = append(kept, l)
		}
	}
	return kept
}
