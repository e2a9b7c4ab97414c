package explain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/agentry-dev/agentry/generator/diag"
	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// NearMisses finds the selector that comes closest to an object that nothing selects. Unlike an [Explainer] it looks
// only at objects that select, so that it costs little. It is not safe for concurrent use.
type NearMisses struct {
	selectors
	namespaces []string        // see isNamespace
	unsure     map[string]bool // kinds for which a selector is invalid
}

// maxParents limits the objects of a kind whose selectors are compared with an object.
const maxParents = 1000

// NewNearMisses returns the near misses in a set. The selector chooses the GrafanaAgents that are rendered; nil chooses
// all.
func NewNearMisses(set *manifest.Set, agents labels.Selector) *NearMisses {
	in := &inputs{render: Render{Set: set, AgentSelector: agents}, fields: map[fieldKey]Field{}}
	x := &NearMisses{selectors: selectors{inputs: in, parents: map[string][]parent{},
		spaces: map[string]manifest.Labels{}, matches: map[string]map[string]match{}}, unsure: map[string]bool{}}
	for _, kind := range selectingKinds() {
		all := set.Kind(kind)
		for _, o := range all[:min(len(all), maxParents)] {
			if kind != "GrafanaAgent" || x.isRun(o) {
				x.addParent(o)
			}
		}
	}
	for kind, parents := range x.allParents() {
		x.unsure[kind] = slices.ContainsFunc(parents, func(p parent) bool { return p.of(kind).invalid != nil })
	}
	return x
}

// NearMiss says in words why the selector that comes closest to an object misses it.
type NearMiss struct {
	// Path is the field of the object that the selector does not like; empty if it is not the object's.
	Path string
	// Why is empty if the inputs have nothing that could select the object.
	Why string
	// Hint is what is most likely misspelt or lacking, or empty.
	Hint string

	isMisspelt bool
}

// Of returns the nearest miss of an object. Of equally near ones, it prefers one that misses by a misspelt word.
func (x *NearMisses) Of(o *manifest.Object) (out NearMiss) {
	near := nearest[parent]{limit: maxMisses}
	for _, p := range x.parentsOf(o.Kind) {
		near.add(x.distance(p, p.of(o.Kind), o), p)
	}
	for i, c := range near.kept {
		if c.distance > near.kept[0].distance {
			break
		}
		miss := x.nearMiss(c.value, c.value.of(o.Kind), o)
		if miss.isMisspelt {
			return miss
		}
		if i == 0 {
			out = miss
		}
	}
	return out
}

// IsSure reports whether all selectors for a kind are valid, so that it is known what they select.
func (x *NearMisses) IsSure(kind string) bool { return !x.unsure[kind] }

func (x *NearMisses) nearMiss(p parent, c *choice, o *manifest.Object) NearMiss {
	by := p.object.Kind + " " + p.object.Namespace + "/" + p.object.Name
	if c.selector == nil {
		return NearMiss{Why: fmt.Sprintf("%s of %s is not set", c.Path, by)}
	}
	var out NearMiss
	var whys []string
	lacksNamespace := false
	add := func(path, why, hint string) {
		whys = append(whys, why)
		if out.Path == "" || out.Hint == "" && hint != "" {
			out.Path, out.Hint = path, hint
		}
	}
	for _, want := range unmet(c.selector, o.Labels) {
		key, hint := want.meant(o.Labels)
		if hint != "" {
			hint = "did you mean " + hint + "?"
		}
		add("metadata.labels["+key+"]", fmt.Sprintf("label %s: %s wants %s", want.state(""), by, want.wish()), hint)
	}
	if in := x.matchNamespace(p, c, o.Namespace); !in.selected {
		of := " of namespace " + o.Namespace
		if !x.isDefined(o.Namespace) {
			of += ", which has no manifest here,"
			lacksNamespace = len(in.wants) > 0
		}
		for _, want := range in.wants {
			_, hint := want.meant(x.labelsOf(o.Namespace))
			if hint != "" {
				hint = "did you mean " + hint + " in the labels of Namespace " + o.Namespace + "?"
			}
			add("metadata.namespace", fmt.Sprintf("label %s: %s wants %s", want.state(of), by, want.wish()), hint)
		}
		if in.needsWidening {
			add("metadata.namespace", fmt.Sprintf("namespace %s: %s looks in %s", o.Namespace, by, x.where(p, c)), "")
		}
		if hint := x.meantNamespace(p, c, o); hint != "" {
			out.Path, out.Hint = "metadata.namespace", hint
		}
	}
	out.isMisspelt = out.Hint != ""
	if !out.isMisspelt && lacksNamespace {
		out.Hint = "add a manifest of Namespace " + o.Namespace +
			" with this label, or its labels to spec.namespaces of the pipeline"
	}
	const most = 2
	out.Why = strings.Join(whys[:min(len(whys), most)], "; ")
	if more := len(whys) - most; more > 0 {
		out.Why += fmt.Sprintf("; and %d more", more)
	}
	return out
}

// meantNamespace returns the hint for an object in a namespace that a choice does not look in: its name or the one in
// the selector is misspelt.
func (x *NearMisses) meantNamespace(p parent, c *choice, o *manifest.Object) string {
	for _, name := range x.namespacesOf(p, c) {
		switch {
		case !hierarchy.IsMisspelt(o.Namespace, name):
		case !x.isDefined(o.Namespace) && x.isNamespace(name):
			return "did you mean " + name + "?"
		case !x.isNamespace(name):
			return fmt.Sprintf("did you mean %s in %s of %s?", o.Namespace, c.NamespacePath,
				p.object.SeenFrom(o, c.NamespacePath))
		}
	}
	return ""
}

// namespacesOf returns the namespaces that a choice looks in: those that it names, and then those with a manifest.
func (x *NearMisses) namespacesOf(p parent, c *choice) (names []string) {
	if c.namespaces == nil {
		return []string{p.object.Namespace}
	}
	requirements, _ := c.namespaces.Requirements()
	for _, r := range requirements {
		if r.Key() == nameLabel && isOneOf(r.Operator()) {
			names = append(names, slices.Sorted(slices.Values(r.ValuesUnsorted()))...)
		}
	}
	all := x.render.Set.Kind(manifest.NamespaceKind)
	for _, o := range all[:min(len(all), maxParents)] {
		if x.matchNamespace(p, c, o.Name).selected {
			names = append(names, o.Name)
		}
	}
	return names
}

// isDefined reports whether a namespace has a manifest.
func (x *NearMisses) isDefined(namespace string) bool {
	return x.render.Set.Get(manifest.ID{Kind: manifest.NamespaceKind, Name: namespace}) != nil
}

// isNamespace reports whether a namespace has a manifest, or an object is in it.
func (x *NearMisses) isNamespace(name string) bool {
	if x.namespaces == nil {
		x.namespaces = x.render.Set.Namespaces()
	}
	_, found := slices.BinarySearch(x.namespaces, name)
	return found
}

// state returns the label that does not meet the requirement, with its value. of says whose label it is.
func (want Requirement) state(of string) string {
	switch {
	case !want.Has:
		return "`" + want.Label + "`" + of + " is not set"
	case want.Value == "":
		return "`" + want.Label + "`" + of + " is empty"
	}
	return "`" + want.Label + ": " + want.Value + "`" + of
}

// wish returns what the requirement wants of the label: its values if they are few, else all of the requirement.
func (want Requirement) wish() string {
	const few = 3
	if !isOneOf(want.operator) || len(want.values) > few {
		return "`" + want.Text + "`"
	}
	var values []string
	for _, v := range want.values {
		values = append(values, "`"+v+"`")
	}
	return diag.Alternatives(values)
}

// meant returns the label to look at: the one that the requirement is about, or a label of the same object that most
// likely is this one misspelt. word is what the misspelt value or label most likely means, or empty.
func (want Requirement) meant(own manifest.Labels) (key, word string) {
	if want.Has && isOneOf(want.operator) {
		for _, value := range want.values {
			if hierarchy.IsMisspelt(want.Value, value) {
				return want.Label, value
			}
		}
	}
	if !want.Has {
		for _, other := range own {
			if hierarchy.IsMisspelt(other.Name, want.Label) {
				return other.Name, want.Label
			}
		}
	}
	return want.Label, ""
}

// isOneOf reports whether an operator asks for one of the values.
func isOneOf(o selection.Operator) bool {
	return o == selection.In || o == selection.Equals || o == selection.DoubleEquals
}
