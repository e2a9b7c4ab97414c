package manifest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Label is a label of an object.
type Label struct{ Name, Value string }

// Labels are the labels of an object, sorted by name. There are few in an object and many objects: a map would take ten
// times as much memory. For selectors use their address, which needs no memory.
type Labels []Label

var _ labels.Labels = Labels{}

// LabelsOf returns the labels in a map.
func LabelsOf(all map[string]string) Labels {
	if len(all) == 0 {
		return nil
	}
	out := make(Labels, 0, len(all))
	for name, value := range all {
		out = append(out, Label{name, value})
	}
	slices.SortFunc(out, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Lookup returns the value of a label, and whether there is one.
func (l Labels) Lookup(name string) (value string, found bool) {
	i := slices.IndexFunc(l, func(l Label) bool { return l.Name == name })
	if i < 0 {
		return "", false
	}
	return l[i].Value, true
}

// Has reports whether there is a label.
func (l Labels) Has(name string) bool {
	_, found := l.Lookup(name)
	return found
}

// Get returns the value of a label, or "" if there is none.
func (l Labels) Get(name string) string {
	value, _ := l.Lookup(name)
	return value
}

// With returns the labels with that value of one of them.
func (l Labels) With(name, value string) Labels {
	at := slices.IndexFunc(l, func(l Label) bool { return l.Name >= name })
	if at < 0 {
		at = len(l)
	}
	rest := l[at:]
	if len(rest) > 0 && rest[0].Name == name {
		rest = rest[1:]
	}
	out := make(Labels, 0, len(l)+1)
	return append(append(append(out, l[:at]...), Label{name, value}), rest...)
}

// Map returns the labels as a map of its own.
func (l Labels) Map() map[string]string {
	out := make(map[string]string, len(l))
	for _, label := range l {
		out[label.Name] = label.Value
	}
	return out
}
