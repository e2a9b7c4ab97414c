package schema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentry-dev/agentry/internal/lazyregexp"
)

// node is a schema as [Kind.Accept] reads it. It is unsure about every value that the fields below cannot decide. Where
// a number or a list below is zero, the schema says nothing about it.
//
// The nodes of all kinds are in tables.go, without maps, so that the compiler lays them out: they cost nothing at the
// start, nor where they are not used.
type node struct {
	unsure bool // the schema has something that compile does not know

	types types // the types that a value can have

	properties []property // sorted by their names
	defaults   []fallback
	required   []string
	additional *node // the schema of keys that are not properties
	unknown    bool  // all other keys are kept and not checked

	items              *node
	minItems, maxItems int
	unique             bool   // list type set or map: items are sure only if [node.distinct] can tell them apart
	key                string // the only key of a list type map

	enum                 []string // none means any string
	pattern              *lazyregexp.Regexp
	minLength, maxLength int // in characters
	bounds               *bounds
}

// property is a field of an object.
type property struct {
	name string
	*node
}

// fallback is the default of a field, a string or a boolean.
type fallback struct {
	name  string
	value any
}

// bounds are the least and the greatest of the integers that are allowed.
type bounds struct{ least, most int64 }

// property returns the schema of a field, or nil.
func (n *node) property(name string) *node {
	i, found := slices.BinarySearchFunc(n.properties, name, func(p property, name string) int {
		return strings.Compare(p.name, name)
	})
	if !found {
		return nil
	}
	return n.properties[i].node
}

// types is a set of JSON types.
type types uint8

const (
	object types = 1 << iota
	array
	text
	integer
	boolean
	anything
)

// accept sets defaults and reports whether the value is certainly valid.
func (n *node) accept(value any) bool {
	if n.unsure {
		return false
	}
	if n.types == anything {
		return value != nil
	}
	switch value := value.(type) {
	case map[string]any:
		return n.types&object != 0 && n.acceptObject(value)
	case []any:
		return n.types&array != 0 && n.acceptArray(value)
	case string:
		return n.types&text != 0 && n.acceptText(value)
	case int64:
		return n.types&integer != 0 && (n.bounds == nil || n.bounds.least <= value && value <= n.bounds.most)
	case bool:
		return n.types&boolean != 0
	}
	return false // null, and numbers with a fraction
}

func (n *node) acceptObject(value map[string]any) bool {
	for _, f := range n.defaults {
		if _, found := value[f.name]; !found {
			value[f.name] = f.value
		}
	}
	for name, item := range value {
		switch property := n.property(name); {
		case property != nil:
			if !property.accept(item) {
				return false
			}
		case n.additional != nil:
			if !n.additional.accept(item) {
				return false
			}
		case !n.unknown:
			return false
		}
	}
	for _, name := range n.required {
		if _, found := value[name]; !found {
			return false
		}
	}
	return true
}

func (n *node) acceptArray(value []any) bool {
	if len(value) < n.minItems || n.maxItems > 0 && len(value) > n.maxItems || n.items == nil {
		return false
	}
	for _, item := range value {
		if !n.items.accept(item) {
			return false
		}
	}
	return !n.unique || len(value) < 2 || n.distinct(value)
}

// distinct reports whether the items of a set, or the keys of a map, are different strings.
func (n *node) distinct(value []any) bool {
	seen := make(map[string]bool, len(value))
	for _, item := range value {
		if object, ok := item.(map[string]any); ok && n.key != "" {
			item = object[n.key]
		}
		text, ok := item.(string)
		if !ok || seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

func (n *node) acceptText(value string) bool {
	if len(n.enum) > 0 && !slices.Contains(n.enum, value) {
		return false
	}
	if n.minLength > 0 || n.maxLength > 0 {
		length := utf8.RuneCountInString(value)
		if length < n.minLength || n.maxLength > 0 && length > n.maxLength {
			return false
		}
	}
	return n.pattern == nil || n.pattern.MatchString(value)
}
