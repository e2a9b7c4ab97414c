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

// choice is a [hierarchy.Choice] that is ready to be asked.
type choice struct {
	hierarchy.Choice
	selector, namespaces labels.Selector // nil if there is none, or it is invalid
	invalid              error
}

func (w *judge) newParent(o *manifest.Object) parent {
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

// addParent adds an object that selects others.
func (w *judge) addParent(o *manifest.Object) {
	p := w.newParent(o)
	seen := map[string]bool{}
	for _, c := range p.choices {
		for _, kind := range c.Kinds {
			if !seen[kind] {
				seen[kind] = true
				w.parents[kind] = append(w.parents[kind], p)
			}
		}
	}
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

// match says whether a namespace is selected; if not, changes would do it.
type match struct {
	selected bool
	wants    []Want
	isWidens bool // the selector has to change, because it asks for the name
}

// looksIn judges a namespace.
func (w *judge) looksIn(p parent, c *choice, namespace string) match {
	if c.NamespaceSelector == nil {
		return match{selected: namespace == p.object.Namespace, isWidens: namespace != p.object.Namespace}
	}
	key := c.namespaces.String()
	known := w.matches[key]
	if known == nil {
		known = map[string]match{}
		w.matches[key] = known
	}
	m, ok := known[namespace]
	if !ok {
		set := w.labelsOf(namespace)
		m = match{selected: c.namespaces.Matches(set)}
		for _, want := range unmet(c.namespaces, set) {
			if want.Label == nameLabel {
				m.isWidens = true
				continue
			}
			m.wants = append(m.wants, want)
		}
		known[namespace] = m
	}
	return m
}

// selects reports whether a choice of a parent selects an object.
func (w *judge) selects(p parent, o *manifest.Object) bool {
	c := p.of(o.Kind)
	return c != nil && c.isSet() && c.selector.Matches(labels.Set(o.Meta.Labels)) && w.looksIn(p, c, o.Namespace).selected
}

// labelsOf returns the labels of a namespace.
func (w *judge) labelsOf(namespace string) labels.Set {
	set, ok := w.spaces[namespace]
	if !ok {
		set = hierarchy.NamespaceLabels(w.render.Set, namespace)
		w.spaces[namespace] = set
	}
	return set
}

// Want is one requirement of a selector, beside the label that decides.
type Want struct {
	// Text is the requirement as Kubernetes writes selectors, such as team=b.
	Text string `json:"wants"`
	// Label is the key, and Value what the object or namespace has, if it Has the label.
	Label string `json:"label"`
	Value string `json:"value,omitempty"`
	Has   bool   `json:"has"`

	operator selection.Operator
	values   []string // sorted
}

// wantsOf returns the requirements of a selector.
func wantsOf(s labels.Selector, set labels.Set) (out []Want) {
	requirements, _ := s.Requirements()
	for i := range requirements {
		out = append(out, newWant(&requirements[i], set))
	}
	return out
}

// unmet returns the requirements that labels do not meet.
func unmet(s labels.Selector, set labels.Set) (out []Want) {
	requirements, _ := s.Requirements()
	for i := range requirements {
		if !requirements[i].Matches(set) {
			out = append(out, newWant(&requirements[i], set))
		}
	}
	return out
}

func newWant(r *labels.Requirement, set labels.Set) Want {
	values := r.ValuesUnsorted()
	slices.Sort(values)
	want := Want{Text: r.String(), Label: r.Key(), operator: r.Operator(), values: values}
	if want.operator == selection.In && len(values) == 1 {
		want.Text = r.Key() + "=" + values[0]
	}
	want.Value, want.Has = set[r.Key()]
	return want
}

// distance counts the changes by which a choice would select an object, as far as that can be told from the
// requirements. It is what the order of misses goes by.
func (w *judge) distance(p parent, c *choice, o *manifest.Object) int {
	switch {
	case c.invalid != nil:
		return hopeless
	case c.selector == nil:
		return unset
	}
	requirements, _ := c.selector.Requirements()
	n := 0
	for i := range requirements {
		if !requirements[i].Matches(labels.Set(o.Meta.Labels)) {
			n++
		}
	}
	m := w.looksIn(p, c, o.Namespace)
	n += len(m.wants)
	if m.isWidens {
		n++
	}
	return n
}

// Distances that are no counts of changes.
const (
	unset    = 1 << 20 // the selector is not set
	hopeless = 1 << 21 // no change of labels helps
)

// plainly returns a selector as messages show it.
func plainly(s labels.Selector) string {
	if s == nil || s.Empty() {
		return "{}"
	}
	return strings.ReplaceAll(s.String(), ",", ", ")
}
