package handwritten

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed schema.json
var reflected []byte

// schemaType is the type of a mapping.
type schemaType struct {
	// Inline are types whose fields and rules this type has, too.
	Inline []string `json:"inline"`
	// Fields are the types of the fields: the name of another type, one of those that scalar knows, any, or a list or
	// a map of any of them.
	Fields map[string]string `json:"fields"`

	names []string // of all fields, sorted
	constraint
}

// schema returns all types by their name.
var schema = sync.OnceValue(func() map[string]*schemaType {
	var file struct {
		Types map[string]*schemaType `json:"types"`
	}
	if err := json.Unmarshal(reflected, &file); err != nil {
		panic("handwritten: the embedded schema: " + err.Error())
	}
	// A group of static targets has a decoder of its own, whose fields reflection does not show.
	file.Types["targets"] = &schemaType{Fields: map[string]string{"targets": "list of string", "labels": "labels"}}
	known := constraints()
	addNewer(file.Types, known)
	for name, t := range file.Types {
		t.constraint = known[name]
		for _, i := range t.Inline {
			t.inherit(file.Types, known, i)
		}
	}
	for _, t := range file.Types {
		t.names = slices.Sorted(maps.Keys(t.Fields))
	}
	return file.Types
})

// inherit adds the fields and rules of inlined types.
func (t *schemaType) inherit(types map[string]*schemaType, known map[string]constraint, name string) {
	from := types[name]
	maps.Copy(t.Fields, from.Fields)
	if r := known[name].rule; r != nil {
		t.inherited = append(t.inherited, r)
	}
	for _, i := range from.Inline {
		t.inherit(types, known, i)
	}
}

// item splits the type of a list or a map.
func item(of string) (container, rest string) {
	for _, c := range [...]string{"list of ", "map of "} {
		if rest, ok := strings.CutPrefix(of, c); ok {
			return c, rest
		}
	}
	return "", of
}
