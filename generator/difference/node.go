package difference

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// shape is the kind of a node's value.
type shape int

const (
	unread shape = iota
	mapping
	sequence
	scalar
)

// node is a value in a manifest. It is parsed on demand: a large mapping or list is split into the texts of its parts,
// anything else is decoded.
type node struct {
	// text is in block style. Its first line has no indentation; further lines have at least indent spaces.
	text   []byte
	indent int
	// entry means that text is `key: value` or `- value`, and not only the value.
	entry bool
	// job is the source of a node that is a job of a configuration that was not read from text.
	job Job
	// values returns the value of a configuration that was not read from text.
	values func() map[string]any

	name   string // of the field with this value, or with a list of it
	parent *node  // nil at the top

	shape  shape
	fields []*node // of a mapping, in the order of the text
	items  []*node // of a sequence
	plain  any     // of a scalar: nil, bool, int, uint64, float64 or string

	// line is the first line of the node, counted from 1 in the text of the nearest node that has a line; 0 at its
	// beginning.
	line int
}

// Job is a job of a configuration. Its fields are made on demand, because most jobs of two configurations are equal.
type Job interface {
	Name() string
	// Fields returns the fields of the job, as [Version.Values] returns values.
	Fields() any
	// IsSame reports whether another job is made of equal values, so that its fields are equal. It makes no fields.
	IsSame(other any) bool
}

// decodeBelow is the size in bytes below which a text is decoded as a whole, because splitting is faster only for
// larger texts.
const decodeBelow = 4 << 10

// maxNodes limits the number of nodes after the aliases of a text are expanded.
const maxNodes = 1 << 20

// read parses the node, unless it is parsed. It parses one level of a large node.
func (n *node) read() *node {
	if n == nil || n.shape != unread {
		return n
	}
	switch {
	case n.job != nil:
		n.set(n.job.Fields())
	case n.values != nil:
		n.set(n.values())
	case len(n.text) < decodeBelow || !n.split():
		n.decode()
	}
	return n
}

// decode parses the text as YAML. A text that is not YAML becomes a string.
func (n *node) decode() {
	var doc yaml.Node
	text := append([]byte(strings.Repeat(" ", n.indent)), n.text...)
	n.shape = scalar
	if err := yaml.Unmarshal(text, &doc); err != nil {
		n.plain = unreadable
		return
	}
	if len(doc.Content) == 0 {
		return
	}
	top := doc.Content[0]
	if n.entry && len(top.Content) > 0 {
		top = top.Content[len(top.Content)-1]
	}
	left := maxNodes
	n.from(top, &left)
}

// unreadable is shown instead of a text that is not YAML.
const unreadable = "(cannot be read)"

// from gives the node the value of a parsed node.
func (n *node) from(y *yaml.Node, left *int) {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if *left--; *left < 0 {
		n.shape, n.plain = scalar, unreadable
		return
	}
	n.line = y.Line
	switch y.Kind {
	case yaml.MappingNode:
		n.shape = mapping
		for i := 0; i+1 < len(y.Content); i += 2 {
			f := n.child(y.Content[i].Value, y.Content[i+1], left)
			if f.shape != scalar {
				f.line = y.Content[i].Line
			}
			n.fields = append(n.fields, f)
		}
	case yaml.SequenceNode:
		n.shape = sequence
		for _, item := range y.Content {
			n.items = append(n.items, n.child(n.name, item, left))
		}
	default:
		n.shape, n.plain = scalar, y.Value
		switch y.ShortTag() {
		case "!!null", "!!bool", "!!int", "!!float":
			if err := y.Decode(&n.plain); err != nil {
				n.plain = y.Value
			}
		}
	}
}

func (n *node) child(name string, y *yaml.Node, left *int) *node {
	c := &node{name: name, parent: n}
	c.from(y, left)
	return c
}

// newNode returns the node of a value: nil, bool, a number, string, []any, map[string]any, or a job.
func newNode(name string, parent *node, v any) *node {
	n := &node{name: name, parent: parent}
	n.set(v)
	return n
}

// set sets the value of the node.
func (n *node) set(v any) {
	switch v := v.(type) {
	case map[string]any:
		n.shape = mapping
		for _, field := range slices.Sorted(maps.Keys(v)) {
			n.fields = append(n.fields, newNode(field, n, v[field]))
		}
	case []any:
		n.shape = sequence
		for _, item := range v {
			n.items = append(n.items, newNode(n.name, n, item))
		}
	case Job:
		n.job = v
	case float64: // JSON decodes all numbers to it
		n.shape, n.plain = scalar, v
		if i := int(v); float64(i) == v {
			n.plain = i
		}
	case int64: // as the values of unstructured objects are
		n.shape, n.plain = scalar, int(v)
	default:
		n.shape, n.plain = scalar, v
	}
}

// get returns the value at a path of fields, or nil.
func (n *node) get(names ...string) *node {
	for _, name := range names {
		if n.read() == nil {
			return nil
		}
		i := slices.IndexFunc(n.fields, func(f *node) bool { return f.name == name })
		if i < 0 {
			return nil
		}
		n = n.fields[i]
	}
	return n
}

// list returns the items of a list at a path of fields.
func (n *node) list(names ...string) []*node {
	if n = n.get(names...).read(); n == nil {
		return nil
	}
	return n.items
}

// str returns the scalar at a path of fields as text, or "".
func (n *node) str(names ...string) string {
	n = n.get(names...).read()
	if n == nil || n.shape != scalar || n.plain == nil {
		return ""
	}
	return fmt.Sprint(n.plain)
}

// isSame reports whether two nodes have the same text or are jobs made of equal values. It parses nothing.
func (n *node) isSame(other *node) bool {
	if n.job != nil && other.job != nil {
		return n.job.IsSame(other.job)
	}
	return n.text != nil && other.text != nil && n.indent == other.indent && n.entry == other.entry &&
		string(n.text) == string(other.text)
}

// fieldNames returns the names of the fields of several mappings, sorted.
func fieldNames(nodes ...*node) []string {
	names := map[string]bool{}
	for _, n := range nodes {
		for _, f := range n.fields {
			names[f.name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
