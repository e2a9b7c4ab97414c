// Package yamlvalue decodes one YAML or JSON document to the generic value that Kubernetes
// makes of it: map[string]any, []any, string, int64, float64, bool and nil.
//
// The meaning of YAML is that of sigs.k8s.io/yaml (YAML 1.1 scalars, merge keys, keys that
// are no strings become strings), followed by the API machinery's reading of JSON (a number
// without a fraction that fits is an int64). Other than there, a key that occurs twice in a
// mapping is an error, and so is what cannot be written as JSON.
//
// There are three ways through this package, with one result. [Decode] first tries a parser
// for the plain block style that people write, which is about ten times as fast as a whole
// YAML parser and gives up on anything that it is not certain of. Then comes a JSON parser,
// if the document looks like JSON, and last go.yaml.in/yaml/v2, which sigs.k8s.io/yaml
// uses. Tests hold the first way equal to the last.
package yamlvalue

import (
	"fmt"
	"strings"
)

const (
	// MaxDepth is how deep maps and lists may be nested.
	MaxDepth = 100
	// MaxValues is how many values (maps, lists, scalars) a document may have, with all
	// aliases expanded.
	MaxValues = 500_000
)

// Reason is what is wrong with a document.
type Reason int

const (
	// Syntax is a document that is not YAML, or not expressible as JSON.
	Syntax Reason = iota
	// DuplicateKey is a key that occurs twice in a mapping.
	DuplicateKey
	// Limit is a document that is too deep or, with aliases expanded, too large.
	Limit
)

// Error is a document that cannot be decoded. Its message holds nothing of the document but
// keys, so that it cannot hold a secret.
type Error struct {
	Reason Reason
	// Line and Column count from 1, within the document; 0 is unknown.
	Line, Column int
	Message      string
	Hint         string // what to do; may be empty
}

// Error is the message with its position.
func (e *Error) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// Note is a key that is read as something else than it looks like: on, off, yes, no, y and n
// are booleans, which as keys become the strings true and false.
type Note struct {
	Line, Column int // from 1, within the document
	Key, Value   string
}

// Decode decodes one document. The error is always an *Error. Strings of the value may share
// the text's memory.
func Decode(text string) (any, []Note, error) {
	if value, ok := decodeBlock(text); ok {
		return value, nil, nil
	}
	return decodeAny(text)
}

// decodeAny is [Decode] without the short cut.
func decodeAny(text string) (any, []Note, error) {
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		if value, err := decodeJSON(text); value != nil || err != nil {
			return value, nil, err
		}
	}
	return decodeYAML(text)
}
