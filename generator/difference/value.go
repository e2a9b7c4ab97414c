package difference

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
)

// Hidden replaces a value that is not shown. Two of them are equal if and only if the values are.
type Hidden struct {
	// Text is shown instead of the value: a placeholder, or a URL without its password.
	Text string
	sum  [sha256.Size]byte
}

// MarshalText returns the text that is shown instead.
func (h Hidden) MarshalText() ([]byte, error) { return []byte(h.Text), nil }

// Value is the value of a part of an object. It is decoded on demand.
type Value struct {
	secrets *secrets
	node    *node
}

// Any returns the value: nil, bool, a number, string, [Hidden], []any or map[string]any.
func (v *Value) Any() any { return v.secrets.value(v.node) }

// MarshalJSON encodes the value, with placeholders for hidden values.
func (v *Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.Any()) }

// value returns the whole value: nil, bool, a number, string, [Hidden], []any or map[string]any.
func (s *secrets) value(n *node) any {
	switch n.read(); n.shape {
	case mapping:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.name] = s.value(f)
		}
		return out
	case sequence:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = s.value(item)
		}
		return out
	}
	return s.scalar(n)
}

// scalar returns the value of a scalar.
func (s *secrets) scalar(n *node) any {
	var text string
	switch v := n.plain.(type) {
	case string:
		text = v
	case int:
		text = strconv.Itoa(v)
	default:
		return n.plain
	}
	if shown := s.shown(n, text); shown != text {
		return Hidden{shown, sha256.Sum256([]byte(text))}
	}
	return n.plain
}

// text returns a scalar as text, or a placeholder if it is hidden.
func (s *secrets) text(n *node) string {
	if n.read(); n.shape != scalar {
		return ""
	}
	switch v := s.scalar(n).(type) {
	case Hidden:
		return v.Text
	default:
		return fmt.Sprint(v)
	}
}
