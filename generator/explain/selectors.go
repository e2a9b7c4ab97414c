package explain

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/agentry-dev/agentry/generator/hierarchy"
	"github.com/agentry-dev/agentry/generator/manifest"
)

// parent is an object that can select others.
type parent struct {
	object  *manifest.Object
	choices []choice
}

// choice is a [hierarchy.Choice] with its selectors parsed.
type choice struct {
	hierarchy.Choice
	selector, namespaces labels.Selector // nil if there is none, or it is invalid
	invalid              error
}

func (x *selectors) newParent(o *manifest.Object) parent {
	p := parent{object: o}
	for _, c := range hierarchy.Choices(o) {
		one := choice{Choice: c}
		parse := func(s *metav1.LabelSelector) labels.Selector {
			if s == nil {
				return nil
			}
			out, err := metav1.LabelSelectorAsSelector(s)
			if err != nil {
				one.invalid = err
				return nil
			}
			return out
		}
		one.selector, one.namespaces = parse(c.Selector), parse(c.NamespaceSelector)
		p.choices = append(p.choices, one)
	}
	return p
}

// addParent adds an object to the parents of each kind that it selects.
func (x *selectors) addParent(o *manifest.Object) {
	p := x.newParent(o)
	seen := map[string]bool{}
	for _, c := range p.choices {
		for _, kind := range c.Kinds {
			if !seen[kind] {
				seen[kind] = true
				x.parents[kind] = append(x.parents[kind], p)
			}
		}
	}
}

// parentsOf returns the objects that can select objects of a kind.
func (x *selectors) parentsOf(kind string) []parent { return x.allParents()[kind] }

// allParents returns the objects that can select. They are read when somebody asks for the first time.
func (x *selectors) allParents() map[string][]parent {
	if x.parents == nil {
		x.parents = map[string][]parent{}
		for _, kind := range selectingKinds() {
			for _, o := range x.objects[kind] {
				x.addParent(o)
			}
		}
	}
	return x.parents
}

// of returns the choice of a kind.
func (p parent) of(kind string) *choice {
	for i := range p.choices {
		if slices.Contains(p.choices[i].Kinds, kind) {
			return &p.choices[i]
		}
	}
	return nil
}

// isSet reports whether the choice can select anything.
func (c *choice) isSet() bool { return c.invalid == nil && c.selector != nil }

// match says whether a selector chooses a namespace. If it does not: what would have to change.
type match struct {
	selected      bool
	wants         []Requirement
	needsWidening bool // the selector itself has to change, because it asks for the namespace's name
}

// matchNamespace says whether a choice of a parent looks in a namespace.
func (x *selectors) matchNamespace(p parent, c *choice, namespace string) match {
	if c.NamespaceSelector == nil {
		return match{selected: namespace == p.object.Namespace, needsWidening: namespace != p.object.Namespace}
	}
	key := c.namespaces.String()
	known := x.matches[key]
	if known == nil {
		known = map[string]match{}
		x.matches[key] = known
	}
	m, ok := known[namespace]
	if !ok {
		set := x.labelsOf(namespace)
		m = match{selected: c.namespaces.Matches(set)}
		for _, want := range unmet(c.namespaces, set) {
			if want.Label == nameLabel {
				m.needsWidening = true
				continue
			}
			m.wants = append(m.wants, want)
		}
		known[namespace] = m
	}
	return m
}

// selects reports whether a choice of a parent selects an object.
func (x *selectors) selects(p parent, o *manifest.Object) bool {
	c := p.of(o.Kind)
	return c != nil && c.isSet() && c.selector.Matches(&o.Labels) &&
		x.matchNamespace(p, c, o.Namespace).selected
}

// labelsOf returns the labels of a namespace, from a cache.
func (x *selectors) labelsOf(namespace string) manifest.Labels {
	set, ok := x.spaces[namespace]
	if !ok {
		set = hierarchy.NamespaceLabels(x.render.Set, namespace)
		x.spaces[namespace] = set
	}
	return set
}

// Requirement is one requirement of a selector, with the label of an object or namespace that meets it or does not.
type Requirement struct {
	// Text is the requirement as Kubernetes writes selectors, such as team=b.
	Text string `json:"wants"`
	// Label is the key of the label. Value is its value if the object or namespace Has it.
	Label string `json:"label"`
	Value string `json:"value,omitempty"`
	Has   bool   `json:"has"`

	operator selection.Operator
	values   []string // sorted
}

// requirementsOf returns all requirements of a selector, with the labels of set.
func requirementsOf(s labels.Selector, set labels.Labels) (out []Requirement) {
	requirements, _ := s.Requirements()
	for i := range requirements {
		out = append(out, newRequirement(&requirements[i], set))
	}
	return out
}

// unmet returns the requirements of a selector that the labels of set do not meet.
func unmet(s labels.Selector, set labels.Labels) (out []Requirement) {
	requirements, _ := s.Requirements()
	for i := range requirements {
		if !requirements[i].Matches(set) {
			out = append(out, newRequirement(&requirements[i], set))
		}
	}
	return out
}

func newRequirement(r *labels.Requirement, set labels.Labels) Requirement {
	values := r.ValuesUnsorted()
	slices.Sort(values)
	want := Requirement{Text: r.String(), Label: r.Key(), operator: r.Operator(), values: values}
	if want.operator == selection.In && len(values) == 1 {
		want.Text = r.Key() + "=" + values[0]
	}
	want.Value, want.Has = set.Lookup(r.Key())
	return want
}

// distance estimates how many changes would make a choice select an object: it counts the unmet requirements. Misses
// are sorted by it.
func (x *selectors) distance(p parent, c *choice, o *manifest.Object) int {
	switch {
	case c.invalid != nil:
		return unfixable
	case c.selector == nil:
		return unset
	}
	requirements, _ := c.selector.Requirements()
	n := 0
	for i := range requirements {
		if !requirements[i].Matches(&o.Labels) {
			n++
		}
	}
	m := x.matchNamespace(p, c, o.Namespace)
	n += len(m.wants)
	if m.needsWidening {
		n++
	}
	return n
}

// Distances of choices that no change of labels can fix: they sort behind all others.
const (
	unset     = 1 << 20 // the selector is not set
	unfixable = 1 << 21 // no change of labels helps
)

// selectorText returns a selector in the form that messages have.
func selectorText(s labels.Selector) string {
	if s == nil || s.Empty() {
		return "{}"
	}
	return strings.ReplaceAll(s.String(), ",", ", ")
}
