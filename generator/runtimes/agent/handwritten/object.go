package handwritten

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a mapping as its rule sees it. A field whose value has variables is given, and its text is unknown.
type object struct {
	*checker
	typ  *schemaType
	node *yaml.Node
	path string
}

// rule checks a mapping as a whole.
type rule func(o object)

// get returns the value of a field, or nil if it is absent.
func (o object) get(field string) *yaml.Node { return child(o.node, field) }

// child returns the value of a key of a mapping, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func (o object) has(field string) bool { return o.get(field) != nil }

// given reports whether a field is present and not empty.
func (o object) given(field string) bool {
	switch n := o.get(field); {
	case n == nil:
		return false
	case n.Kind == yaml.ScalarNode:
		return n.Value != ""
	default:
		return len(n.Content) > 0
	}
}

// text returns the text of a field, or its default if it is absent. known is false if only the pod knows it.
func (o object) text(field, byDefault string) (text string, known bool) {
	n := o.get(field)
	if n == nil {
		return byDefault, true
	}
	return literal(n)
}

// is reports whether a field is known to have this boolean value.
func (o object) is(field string, value bool) bool {
	n := o.get(field)
	return n != nil && resolve(n) == value
}

// items returns the items of a list.
func (o object) items(field string) []*yaml.Node {
	if n := o.get(field); n != nil && n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return nil
}

// sub returns the mapping in a field. It returns false if the field is absent or something else.
func (o object) sub(field string) (object, bool) {
	n := o.get(field)
	if n == nil || n.Kind != yaml.MappingNode {
		return object{}, false
	}
	return object{o.checker, nil, n, join(o.path, field)}, true
}

// at returns the node that a finding about a field points to: its value, or the mapping if it is absent.
func (o object) at(field string) *yaml.Node {
	if n := o.get(field); n != nil {
		return n
	}
	return o.node
}

func (o object) name(field string) string { return join(o.path, field) }

// require refuses missing or empty fields. In a name, | separates alternatives.
func (o object) require(fields []string) {
	for _, f := range fields {
		switch {
		case o.given(f):
		case o.has(f):
			o.wrong(o.get(f), "", "%s: is empty", o.name(f))
		default:
			o.wrong(o.node, "", "%s is missing", o.name(f))
		}
	}
}

// exclusive refuses more than one of the fields.
func (o object) exclusive(fields ...string) {
	var found []string
	for _, f := range fields {
		if o.given(f) {
			found = append(found, f)
		}
	}
	if len(found) > 1 {
		o.wrong(o.get(found[1]), "remove all but one", "%s exclude each other",
			strings.Join(names(o.path, found), " and "))
	}
}

func names(path string, fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = join(path, f)
	}
	return out
}
