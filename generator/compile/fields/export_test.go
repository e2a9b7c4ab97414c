package fields

import (
	"reflect"
	"slices"
	"strings"
)

// Place is a field of a kind that holds no other fields of ours.
type Place struct {
	Kind string
	// Path begins below spec; lists have brackets.
	Path string
	Type reflect.Type
	// Fate and Silent are those of the outermost rule that mode operator has something to say about, and Top is its
	// field.
	Fate        Fate
	Silent, Top string
}

// Places returns the fields of a type, where wholes have no places of their own below them.
func Places(kind string, of reflect.Type, wholes ...string) (out []Place) {
	rules := byType()
	var look func(t reflect.Type, at Place)
	look = func(t reflect.Type, at Place) {
		many := t.Kind() == reflect.Slice
		inner := element(t)
		if inner.Kind() != reflect.Struct || !ours(inner) || t.Kind() == reflect.Map ||
			slices.Contains(wholes, inner.Name()) {
			at.Type = t
			out = append(out, at)
			return
		}
		if many {
			at.Path += "[]"
		}
		for _, f := range jsonFields(inner) {
			below := at
			below.Path = strings.TrimPrefix(at.Path+"."+f.name, ".")
			for _, o := range f.owners {
				if known := rules[o][f.name]; len(known) > 0 {
					if below.Fate == Rendered {
						below.Fate, below.Silent, below.Top = known[0].Fate, known[0].Silent, below.Path
					}
					break
				}
			}
			look(f.typ, below)
		}
	}
	look(of, Place{Kind: kind})
	return out
}
