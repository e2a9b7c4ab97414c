package integration

import (
	"fmt"
	"slices"
	"strings"
)

// kind is the type of a field's value.
type kind int

const (
	anyKind kind = iota
	stringKind
	secretKind
	regexKind
	urlKind
	intKind
	floatKind
	boolKind
	durationKind
	timeoutKind
	intervalKind
	objectKind
	listKind
	mapKind
)

var kinds = map[string]kind{
	"any": anyKind, "string": stringKind, "secret": secretKind, "regex": regexKind, "url": urlKind,
	"int": intKind, "float": floatKind, "bool": boolKind,
	"duration": durationKind, "timeout": timeoutKind, "interval": intervalKind, "object": objectKind,
}

// String returns the kind as messages name it.
func (k kind) String() string {
	return [...]string{"value", "text", "text", "regular expression", "URL", "whole number", "number", "boolean",
		"duration", "duration", "duration", "mapping", "list", "mapping"}[k]
}

// node is a [Field] compiled for checking.
type node struct {
	*Field
	kind   kind
	item   *node   // of a list or map
	fields []*node // of an object, sorted by name
	names  []string
	rule   rule // checks an object as a whole
}

// compile compiles the fields of a type.
func (t *Type) compile() error {
	fields := t.Fields
	if t.Metrics {
		fields = merge(commonFields(), fields)
	}
	n, err := newNode(&Field{Type: "object", Fields: fields, Open: t.Unchecked}, t.Name)
	if err != nil {
		return err
	}
	t.config = n
	return nil
}

// commonFields returns the fields of every integration with metrics.
func commonFields() []Field {
	relabel := []Field{
		{Name: "source_labels", Type: "list of string"}, {Name: "separator", Type: "string"},
		{Name: "regex", Type: "string"},
		{Name: "modulus", Type: "int"}, {Name: "target_label", Type: "string"}, {Name: "replacement", Type: "string"},
		{Name: "action", Type: "string"},
	}
	return []Field{
		{Name: "instance", Type: "string"},
		{Name: "extra_labels", Type: "map of string"},
		{Name: "autoscrape", Type: "object", Fields: []Field{
			{Name: "enable", Type: "bool"},
			{Name: "metrics_instance", Type: "string"},
			{Name: "scrape_interval", Type: "interval"},
			{Name: "scrape_timeout", Type: "interval"},
			{Name: "relabel_configs", Type: "list of object", Fields: relabel},
			{Name: "metric_relabel_configs", Type: "list of object", Fields: relabel},
		}},
	}
}

// newNode compiles a field; where is its path in the catalogue, for errors.
func newNode(f *Field, where string) (*node, error) {
	switch f.Required {
	case "", "start", "scrape":
	default:
		return nil, fmt.Errorf("field %s: required is %q, which is neither start nor scrape", where, f.Required)
	}
	return typedNode(f, f.Type, where)
}

func typedNode(f *Field, typ, where string) (*node, error) {
	n := &node{Field: f}
	for _, c := range [...]struct {
		prefix string
		kind   kind
	}{{"list of ", listKind}, {"map of ", mapKind}} {
		inner, ok := strings.CutPrefix(typ, c.prefix)
		if !ok {
			continue
		}
		item, err := typedNode(f, inner, where)
		n.kind, n.item = c.kind, item
		return n, err
	}
	var ok bool
	if n.kind, ok = kinds[typ]; !ok {
		return nil, fmt.Errorf("field %s: %q is not a type; types are %s, and list of or map of one of them", where,
			typ, typeNames())
	}
	if n.kind != objectKind {
		return n, nil
	}
	n.rule = rules[where]
	for i := range f.Fields {
		child, err := newNode(&f.Fields[i], where+"."+f.Fields[i].Name)
		if err != nil {
			return nil, err
		}
		n.fields = append(n.fields, child)
	}
	slices.SortFunc(n.fields, func(a, b *node) int { return strings.Compare(a.Name, b.Name) })
	for _, child := range n.fields {
		n.names = append(n.names, child.Name)
	}
	return n, nil
}

func typeNames() string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// field returns a field of an object, or nil if it has none of that name.
func (n *node) field(name string) *node {
	if i, ok := slices.BinarySearch(n.names, name); ok {
		return n.fields[i]
	}
	return nil
}

// free reports whether an object may have any fields, because the catalogue names none.
func (n *node) free() bool { return len(n.fields) == 0 && n.Fields == nil }
