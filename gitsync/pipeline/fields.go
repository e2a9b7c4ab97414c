package pipeline

import (
	"encoding/json"
	"maps"
	"slices"
)

// Field is a field of a specification that holds words.
type Field struct {
	// Path are the names of the fields that lead to it, from the specification.
	Path []string
	// Type is string, boolean or integer; array of strings, or object whose values are strings.
	Type string
	// Words are the only values that a string may have. Empty: it may have others.
	Words []string
}

// schemaNode is a part of the schema.
type schemaNode struct {
	Type                 string                 `json:"type"`
	Enum                 []string               `json:"enum"`
	Properties           map[string]*schemaNode `json:"properties"`
	Items                *schemaNode            `json:"items"`
	AdditionalProperties *schemaNode            `json:"additionalProperties"`
}

// Fields returns the fields of a specification that hold words, sorted by their paths. What is in lists of objects is
// not among them.
func Fields() []Field {
	var root schemaNode
	if err := json.Unmarshal(schema, &root); err != nil {
		panic(err) // it is generated
	}
	return root.Properties["spec"].fields(nil)
}

func (n *schemaNode) fields(at []string) (out []Field) {
	isText := func(n *schemaNode) bool { return n != nil && n.Type == "string" }
	switch {
	case n.Type == "string", n.Type == "boolean", n.Type == "integer", isText(n.Items), isText(n.AdditionalProperties):
		return []Field{{Path: at, Type: n.Type, Words: n.Enum}}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		out = append(out, n.Properties[name].fields(append(slices.Clip(at), name))...)
	}
	return out
}
