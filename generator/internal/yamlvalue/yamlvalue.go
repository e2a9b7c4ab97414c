// Package yamlvalue decodes one YAML or JSON document to the generic value that Kubernetes decodes it to:
// map[string]any, []any, string, int64, float64, bool and nil. [Encode] prints such values.
//
// It reads YAML like sigs.k8s.io/yaml (YAML 1.1 scalars, merge keys, keys become strings), and the result like the API
// machinery reads JSON (a number without a fraction is an int64 if it fits). It is stricter in two ways: a key that
// occurs twice in a mapping, and a value that JSON cannot express, are errors.
//
// [Decode] tries three parsers, which give the same results. The first one is for the plain block style that people
// write. It is about ten times as fast as a full YAML parser, and gives up whenever it is not certain. The second is a
// JSON parser, if the document looks like JSON. The last is go.yaml.in/yaml/v2, which sigs.k8s.io/yaml uses. Tests
// compare the first parser with the last.
package yamlvalue

import (
	"fmt"
	"strings"
)

const (
	// MaxDepth limits the nesting of maps and lists.
	MaxDepth = 100
	// MaxValues limits the values (maps, lists, scalars) of a document, with all aliases expanded.
	MaxValues = 500_000
)

// Reason is the kind of an [Error].
type Reason int

const (
	// Syntax: the document is not YAML, or cannot be expressed as JSON.
	Syntax Reason = iota
	// DuplicateKey: a key occurs twice in a mapping.
	DuplicateKey
	// Limit: the document is too deep or, with aliases expanded, too large.
	Limit
)

// Error is the reason why a document cannot be decoded. Its message may contain keys of the document but no values,
// because values could be secrets.
type Error struct {
	Reason Reason
	// Line and Column count from 1 within the document; 0 means unknown.
	Line, Column int
	Message      string
	Hint         string // what to do; may be empty
	// Near is the name of a similar anchor for an alias, or "", and NearLine its line: see [Error.HintFrom].
	Near     string
	NearLine int
}

// HintFrom returns the hint for a document that begins at a line of a file.
func (e *Error) HintFrom(line int) string {
	switch at := line + e.NearLine - 1; {
	case e.Near == "":
		return e.Hint
	case e.isLater():
		return fmt.Sprintf("move the anchor from line %d before its aliases", at)
	default:
		return fmt.Sprintf("did you mean *%s (line %d)?", e.Near, at)
	}
}

// WithoutNames returns the error without the names of anchors, for a text that could be a secret as a whole.
func (e *Error) WithoutNames() *Error {
	if e.Near == "" {
		return e
	}
	out := &Error{Reason: e.Reason, Line: e.Line, Column: e.Column, Message: noAnchor,
		Hint: fmt.Sprintf("the anchor in line %d of the text has a similar name", e.NearLine)}
	if e.isLater() {
		out.Message = "an alias refers to an anchor that " + anchorLater
		out.Hint = fmt.Sprintf("move the anchor from line %d of the text before its aliases", e.NearLine)
	}
	return out
}

// isLater reports whether the anchor of an alias comes later.
func (e *Error) isLater() bool { return strings.HasSuffix(e.Message, anchorLater) }

// Error returns the message with its position.
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Note reports a key that is not read as it looks: on, off, yes, no, y and n are booleans, which become the keys true
// and false.
type Note struct {
	Line, Column int // counted from 1 within the document
	Key, Value   string
}

// Decode decodes one document. The error is always an *Error. Strings of the value can share memory with the text.
func Decode(text string) (any, []Note, error) {
	value, notes, _, err := DecodeList(text)
	return value, notes, err
}

// DecodeList is [Decode] that also returns the items of a list, a mapping with a sequence at items, each as it is
// written. There are none if they mean nothing alone, or if the document is in another style than block style or JSON.
func DecodeList(text string) (any, []Note, []Item, error) {
	b := block{text: text}
	value, ok := b.decode()
	switch {
	case ok:
		return value, nil, b.list(), nil
	case b.values > MaxValues:
		return nil, nil, nil, errTooManyValues()
	}
	return decodeAny(text)
}

// decodeAny is [DecodeList] without the parser for block style. The other parsers read the whole text before they
// return, so the number of values is checked first: see bound.
func decodeAny(text string) (any, []Note, []Item, error) {
	if len(text) > MaxValues && bound(text) > MaxValues {
		return nil, nil, nil, errTooManyValues()
	}
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		if value, err := decodeJSON(text); value != nil || err != nil {
			return value, nil, itemsOfJSON(text, value), err
		}
	}
	value, notes, err := decodeYAML(text)
	return value, notes, nil, err
}
