package pipeline

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentry-dev/agentry/generator/manifest"
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
	return rootNode().Properties["spec"].fields(nil)
}

func rootNode() *schemaNode {
	var root schemaNode
	if err := json.Unmarshal(manifest.Pipeline.Schema(), &root); err != nil {
		panic(err) // it is generated
	}
	return &root
}

// WithTexts returns the fields of a pipeline with texts where the schema wants texts: on a command line, 2024 and true
// may be either. texts has the same fields with all values as texts.
func WithTexts(fields, texts map[string]any) map[string]any {
	out, _ := rootNode().withTexts(fields, texts).(map[string]any)
	return out
}

func (n *schemaNode) withTexts(value, text any) any {
	if n == nil {
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		texts, _ := text.(map[string]any)
		for name := range value {
			of := n.Properties[name]
			if of == nil {
				of = n.AdditionalProperties
			}
			value[name] = of.withTexts(value[name], texts[name])
		}
	case []any:
		texts, _ := text.([]any)
		for i := range min(len(value), len(texts)) {
			value[i] = n.Items.withTexts(value[i], texts[i])
		}
	case int64, bool:
		if text, ok := text.(string); ok && n.Type == "string" {
			return text
		}
	}
	return value
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
